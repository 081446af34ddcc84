// The parser that one would write first, as a yardstick: a label, then ids and values, each read by
// a loop over its digits. It knows no error, no exponent and no order of ids.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

static double read_number(const char *&p) {
  const bool minus = *p == '-';
  if (minus || *p == '+') ++p;
  double number = 0, unit = 1;
  for (; *p >= '0' && *p <= '9'; ++p) number = 10 * number + (*p - '0');
  if (*p == '.')
    for (++p; *p >= '0' && *p <= '9'; ++p) number += (*p - '0') * (unit *= 0.1);
  return minus ? -number : number;
}

int main(int, char **arguments) {
  std::ifstream file(arguments[1], std::ios::binary);
  const size_t block = 1 << 21;
  std::string text, rest;
  int64_t features = 0;
  for (;;) {
    text.swap(rest);
    const size_t before = text.size();
    text.resize(block);
    file.read(&text[before], static_cast<std::streamsize>(block - before));
    text.resize(before + static_cast<size_t>(file.gcount()));
    if (text.empty()) break;
    const size_t cut = text.rfind('\n') + 1;
    rest.assign(text, cut, std::string::npos);
    text.resize(cut);
    std::vector<double> targets;
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> indices;
    std::vector<float> values;
    for (const char *p = text.data(), *end = p + text.size(); p < end; ++p) {
      targets.push_back(read_number(p));
      while (*p == ' ') {
        int32_t id = 0;
        for (++p; *p >= '0' && *p <= '9'; ++p) id = 10 * id + (*p - '0');
        ++p;
        indices.push_back(id - 1);
        values.push_back(static_cast<float>(read_number(p)));
      }
      indptr.push_back(static_cast<int64_t>(indices.size()));
    }
    features += static_cast<int64_t>(indices.size());
  }
  std::printf("%lld features\n", static_cast<long long>(features));
}
