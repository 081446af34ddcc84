// Columns of words that are numbers or dates, as people write them, for Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <unordered_set>

#include "python/buffers.hpp"
#include "table/arrow.hpp"
#include "table/csv_columns.hpp"
#include "table/written.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;

template <class T>
const T *pointer(nb::handle capsule, const char *name) {
  void *found = PyCapsule_GetPointer(capsule.ptr(), name);
  if (found == nullptr) throw nb::python_error();
  return static_cast<const T *>(found);
}

// Calls read(row, text) for each word that is there, and notes the rows of which it says false.
template <class Read>
std::vector<int64_t> each_word(nb::handle schema, nb::handle array,
                               const std::vector<std::string> &missing, Read read) {
  const auto *type = pointer<ArrowSchema>(schema, "arrow_schema");
  const auto *data = pointer<ArrowArray>(array, "arrow_array");
  const arrow::Column column{type, data, data->offset};
  if (!arrow::is_text(column.format())) throw nb::type_error("it is no array of words");
  const std::unordered_set<std::string_view> nothing(missing.begin(), missing.end());
  std::vector<int64_t> bad;
  nb::gil_scoped_release release;
  for (int64_t i = 0; i < data->length; ++i) {
    if (!column.is_valid(i)) continue;
    const std::string_view word = arrow::text(column, i), inside = written::trimmed(word);
    if (inside.empty() || nothing.count(inside) || read(static_cast<size_t>(i), word)) continue;
    bad.push_back(i);
  }
  return bad;
}

size_t length(nb::handle array) {
  return static_cast<size_t>(pointer<ArrowArray>(array, "arrow_array")->length);
}

nb::tuple written_numbers(nb::handle schema, nb::handle array, const std::string &decimal,
                          const std::string &thousands, const std::vector<std::string> &missing) {
  const char point = decimal.empty() ? '\0' : decimal[0];
  const char between = thousands.empty() ? '\0' : thousands[0];
  std::vector<double> numbers(length(array), arrow::kMissing);
  auto bad = each_word(schema, array, missing, [&](size_t row, std::string_view word) {
    return point == '\0' ? table::read_any_number(word, numbers[row])
                         : written::Digits().number(word, point, between, numbers[row]);
  });
  return nb::make_tuple(to_numpy(std::move(numbers)), to_numpy(std::move(bad)));
}

nb::tuple written_dates(nb::handle schema, nb::handle array, const std::string &order,
                        const std::vector<std::string> &missing) {
  std::string sorted = order;
  std::sort(sorted.begin(), sorted.end());
  const bool is_clock = order.empty();
  if (!is_clock && sorted != "dmy") throw nb::value_error("a date has a day, a month and a year");
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> times(length(array), kNone);
  bool has_clock = false;
  auto bad = each_word(schema, array, missing, [&](size_t row, std::string_view word) {
    IsoTime time;
    if (!(is_clock ? written::read_time_of_day(word, time) : written::read_date(word, order, time)))
      return false;
    times[row] = time.microseconds;
    has_clock = has_clock || time.has_clock;
    return true;
  });
  return nb::make_tuple(to_numpy(std::move(times)), to_numpy(std::move(bad)), has_clock);
}

}  // namespace

void bind_written(nb::module_ &m) {
  m.def(
      "written_numbers", written_numbers, nb::arg("schema"), nb::arg("array"), nb::arg("decimal"),
      nb::arg("thousands"), nb::arg("missing"),
      "Read an array of words as numbers, with signs of currencies and per cent around them; with\n"
      "an empty decimal point as CSV has numbers, without any signs.\n\n"
      "Returns the numbers, NaN where one is missing or cannot be read, and the rows of the\n"
      "latter.");
  m.def(
      "written_dates", written_dates, nb::arg("schema"), nb::arg("array"), nb::arg("order"),
      nb::arg("missing"),
      "Read an array of words as dates whose day, month and year come in an order such as dmy, or\n"
      "with an empty order as times of day.\n\n"
      "Returns microseconds since 1970 or midnight, -2^63 where one is missing or cannot be read;\n"
      "the rows of the latter; and whether any date has a time of day.");
}
