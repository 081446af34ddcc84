// A libFuzzer harness of the parser of CSV. Any bytes must come out as columns that hold together,
// under the sanitizers, and each column as it does when it is read by itself:
//
//   clang++ -std=c++17 -Icore -g -O1 -fsanitize=fuzzer,address,undefined fuzz/csv.cpp -o
//   build/fuzz-csv build/fuzz-csv -max_total_time=600 -dict=fuzz/csv.dict
#include <cmath>
#include <cstdlib>

#include "table/csv_columns.hpp"

using namespace polyak::table;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Columns of a text of three: the number, then the words that are wanted.
bool read(std::string_view text, const std::vector<int32_t> &places, size_t numbers,
          CsvColumns &columns) {
  static const CsvParser::Words missing{"", "NA", "-"};
  std::vector<std::string> names;
  for (int32_t place : places)
    if (place >= 0) names.push_back("abc");
  CsvParser parser(text, ',', names, numbers, places, missing, true);
  if (!parser.run()) return false;
  columns = parser.take();
  return true;
}

void check(const CsvColumns &columns) {
  const auto n = static_cast<size_t>(columns.n_rows);
  for (size_t c = 0; c < columns.names.size(); ++c) {
    if (columns.is_odd[c]) continue;
    int64_t missing = 0;
    for (size_t i = 0; i < n && !columns.valid[c].empty(); ++i)
      missing += !(columns.valid[c][i / 8] >> (i % 8) & 1);
    require(missing == columns.missing[c]);
    if (c < columns.n_numbers) {
      for (size_t i = 0; i < n; ++i) require(std::isfinite(columns.number_column(c)[i]));
    } else {
      const WordColumn &words = columns.words[c - columns.n_numbers];
      require(words.begins.size() == n + 1 && words.begins.front() == 0);
      require(static_cast<size_t>(words.begins.back()) == words.text.size());
      for (size_t i = 0; i < n; ++i) require(polyak::is_utf8(words.word(i)));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A copy of exactly this size, so that a read one byte behind it is seen.
  const std::vector<char> copy(data, data + size);
  const std::string_view text(copy.data(), size);
  CsvColumns all, last;
  const bool even = read(text, {0, 1, 2}, 1, all);
  require(read(text, {-1, -1, 0}, 0, last) == even);
  if (!even) return 0;
  check(all);
  check(last);
  require(all.n_rows == last.n_rows && all.is_odd[2] == last.is_odd[0]);
  if (!last.is_odd[0]) require(all.words[1].text == last.words[0].text);
  return 0;
}
