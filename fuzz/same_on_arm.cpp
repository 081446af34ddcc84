// Prints digests of what the svmlight parser makes of random rows, and of the files named, which
// must not depend on the processor: `make neon` compares those of this machine with those of ARM.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "kernels/kernel_choice.hpp"
#include "text/svmlight.hpp"

using namespace polyak;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

struct Digest {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  int64_t rows = 0, features = 0, bad = 0;

  void add(const void *data, size_t size) {
    for (size_t i = 0; i < size; ++i)
      hash = (hash ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001b3u;
  }
  void add(int64_t number) { add(&number, sizeof number); }
  void print(const char *what) const {
    std::printf("%s: %lld rows, %lld features, %lld bad lines, digest %016llx\n", what,
                static_cast<long long>(rows), static_cast<long long>(features),
                static_cast<long long>(bad), static_cast<unsigned long long>(hash));
  }
};

// A few lines at a time. Half of these texts are of plain features, with ids that rise or fall; the
// others have what the quick path has to notice, as in tests/data/formats/test_parse4.py.
class RandomText {
 public:
  std::string operator()() {
    text_ = "1 ";
    const uint64_t odds = below(2) ? 0 : below(2) ? 5 : 40, rising = below(2);
    uint64_t id = below(3);
    for (uint64_t n = below(40); n > 0; --n) {
      if (odds && below(odds) == 0) {
        odd_feature();
      } else {
        if (rising) text_ += std::to_string(id += 1 + below(uint64_t{1} << below(22)));
        feature(rising ? Digits{0, 0} : Digits{1, 8}, ":", {1, 1}, ".", {1, 7}, " ");
      }
      if (below(40) == 0) text_ += "\n1 ";
    }
    if (below(2)) text_.pop_back();
    return text_ + "\n";
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }

  struct Digits {
    uint64_t least, most;
  };
  void add(Digits digits) {
    for (uint64_t n = digits.least + below(digits.most - digits.least + 1); n > 0; --n)
      text_ += static_cast<char>('0' + below(10));
  }
  void feature(Digits id, const char *colon, Digits ones, const char *point, Digits decimals,
               const char *end) {
    add(id), text_ += colon, add(ones), text_ += point, add(decimals), text_ += end;
  }

  void odd_feature() {
    static const char *const strange[] = {
        " ",      "\t",      "\n-1 ",     "\r\n1 ",    "# 5:0.5 ",        "1:0.1:0.2 ", "7:0,5 ",
        "7:0/5 ", "1:0.5: ", "1::0.5 ",   "1:0..5 ",   "1.5:0.5 ",        "qid:7 ",     "1:1.0.1 ",
        "nan ",   "0:0.5 ",  "7:1.5\n1 ", "7:\xb0.5 ", "9999999999:0.5 ", "7;0.5 "};
    switch (below(5)) {
      case 0:
        return feature({0, 11}, ":", {0, 3}, ".", {0, 10}, " ");
      case 1:
        return feature({1, 4}, ":", {1, 9}, "", {0, 0}, " ");
      case 2:
        return feature({1, 4}, ":-", {1, 1}, ".", {1, 7}, " ");
      case 3:
        return feature({1, 4}, ":", {1, 1}, ".", {1, 5}, "e-2 ");
      default:
        text_ += strange[below(std::size(strange))];
    }
  }

  std::mt19937_64 random_{7};
  std::string text_;
};

template <class Value>
void add_parsed(const std::string &text, Digest &digest) {
  svmlight::Options options;
  options.skip_bad_lines = true;
  for (options.base = -1; options.base <= 1; ++options.base) {
    LinesInMemory lines(text.data(), text.size());
    const svmlight::Rows<Value> rows = svmlight::parse<Value>(lines, options);
    const auto features = static_cast<size_t>(rows.indptr.back());
    digest.add(rows.targets.data(), rows.targets.size() * sizeof(double));
    digest.add(rows.indptr.data(), rows.indptr.size() * sizeof(int64_t));
    digest.add(rows.indices.data(), features * sizeof(int32_t));
    digest.add(rows.values.data(), features * sizeof(Value));
    for (const BadLine &bad : rows.first_bad) {
      digest.add(bad.line);
      digest.add(bad.text.data(), bad.text.size());
      digest.add(bad.reason, std::strlen(bad.reason));
    }
    for (int64_t number : {rows.lines, rows.bad_lines, rows.largest_index}) digest.add(number);
    digest.rows += static_cast<int64_t>(rows.targets.size());
    digest.features += rows.indptr.back();
    digest.bad += rows.bad_lines;
  }
}

// What the quick path alone takes of each line, so that it is seen to be there and to take it.
template <class Value>
void add_fours(std::string text, Digest &digest) {
  std::vector<int32_t> indices(text.size() / 4 + 2);
  std::vector<Value> values(indices.size());
  text.append(kPadding, '\0');
  // From the first space of one line to that of the next.
  for (size_t space = text.find(' '); space != std::string::npos;
       space = text.find(' ', text.find('\n', space))) {
    const char *features = text.data() + space + 1;
    FeaturesOut<Value> out{indices.data(), values.data(), -1, true};
    digest.add(kernels->text.read_fours(features, 1, out) - features);
    const auto n = static_cast<size_t>(out.indices - indices.data());
    digest.add(indices.data(), n * sizeof(int32_t));
    digest.add(values.data(), n * sizeof(Value));
    digest.add(out.previous);
    digest.add(out.ascending);
    ++digest.rows;
    digest.features += static_cast<int64_t>(n);
  }
}

template <class Value>
void print_digests(const char *types, const std::vector<std::string> &texts) {
  Digest scalar, best, fours;
  for (const std::string &text : texts) {
    kernels = kernel_tables().back();  // the scalar build
    add_parsed<Value>(text, scalar);
    kernels = kernel_tables().front();
    add_parsed<Value>(text, best);
    add_fours<Value>(text, fours);
  }
  require(scalar.hash == best.hash);
  require(fours.features > 0);
  best.print(types);
  fours.print("  by fours");
}

}  // namespace

int main(int argc, char **argv) {
  RandomText random_text;
  std::vector<std::string> texts;
  for (int i = 0; i < 20000; ++i) texts.push_back(random_text());
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    require(!texts.back().empty());
  }
  print_digests<float>("float", texts);
  print_digests<double>("double", texts);
}
