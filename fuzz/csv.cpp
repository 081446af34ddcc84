// A libFuzzer harness of the parser of CSV. Any bytes must come out as columns that hold together,
// under the sanitizers, and each column as it does when it is read by itself:
//
//   clang++ -std=c++17 -Icore -g -O1 -fsanitize=fuzzer,address,undefined fuzz/csv.cpp
//     core/table/csv_columns.cpp -o build/fuzz-csv
//   build/fuzz-csv -max_total_time=600 -dict=fuzz/csv.dict
#include <cmath>
#include <cstdlib>

#include "table/csv_columns.hpp"

using namespace polyak::table;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Columns of a text of three: the number, then the words that are wanted.
CsvColumns read(std::string_view text, const std::vector<int32_t> &places, size_t numbers) {
  static const WordSet missing{"", "NA", "-"};
  std::vector<std::string> names;
  for (int32_t place : places)
    if (place >= 0) names.push_back("abc");
  return parse_csv(text, ',', names, numbers, places, missing);
}

void check(const CsvColumns &columns) {
  const auto n = static_cast<size_t>(columns.n_rows);
  require(columns.lines.size() == n && columns.n_rows <= columns.room);
  for (size_t c = 0; c < columns.names.size(); ++c) {
    int64_t missing = 0;
    for (size_t i = 0; i < n && !columns.valid[c].empty(); ++i)
      missing += !(columns.valid[c][i / 8] >> (i % 8) & 1);
    require(missing == columns.missing[c]);
    if (c < columns.n_numbers) {
      for (size_t i = 0; i < n; ++i) require(!std::isnan(columns.number_column(c)[i]));
    } else {
      const WordColumn &words = columns.words[c - columns.n_numbers];
      require(words.begins.size() == n + 1 && words.begins.front() == 0);
      require(static_cast<size_t>(words.begins.back()) == words.text.size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A copy of exactly this size, so that a read one byte behind it is seen.
  const std::vector<char> copy(data, data + size);
  const std::string_view text(copy.data(), size);
  const CsvColumns all = read(text, {0, 1, 2}, 1), last = read(text, {-1, -1, 0}, 0);
  check(all);
  check(last);
  require(all.n_rows == last.n_rows && all.lines == last.lines);
  require(all.bad.size() == last.bad.size());
  require(all.words[1].text == last.words[0].text);
  return 0;
}
