// Bindings of tables, which come as record batches through the Arrow C data interface.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "python/bind_names.hpp"
#include "table/encoder.hpp"
#include "table/written.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;
using table::ColumnType;

// An array and its type, in the two capsules of __arrow_c_array__.
arrow::Column array_in(nb::handle schema, nb::handle array) {
  void *const type = PyCapsule_GetPointer(schema.ptr(), "arrow_schema");
  void *const data = type ? PyCapsule_GetPointer(array.ptr(), "arrow_array") : nullptr;
  if (data == nullptr) throw nb::python_error();
  const auto *found = static_cast<const ArrowArray *>(data);
  return {static_cast<const ArrowSchema *>(type), found, found->offset};
}

// The columns of a record batch, which is an array of structs.
std::vector<arrow::Column> columns_in(const arrow::Column &batch) {
  if (batch.format() != "+s") throw nb::type_error("it is no record batch");
  std::vector<arrow::Column> columns;
  for (int64_t i = 0; i < batch.array->n_children; ++i) {
    const ArrowArray *child = batch.array->children[i];
    columns.push_back({batch.schema->children[i], child, child->offset + batch.begin});
  }
  return columns;
}

ColumnType column_type(const std::string &name) {
  static const char *const kNames[] = {"number", "boolean",  "clock", "date",
                                       "time",   "category", "text",  "bag"};
  for (int i = 0; i < 8; ++i)
    if (name == kNames[i]) return static_cast<ColumnType>(i);
  throw nb::value_error(("there is no kind of column called " + name).c_str());
}

// Throws if a column cannot be read as its planned type. Python converts such columns before.
void check_format(const table::ColumnPlan &plan, const arrow::Column &column) {
  const ArrowSchema *words = column.schema->dictionary;
  const std::string_view format = words != nullptr ? words->format : column.format();
  const bool is_text = arrow::is_text(format);
  bool fits;
  switch (plan.type) {
    case ColumnType::category:
    case ColumnType::text:
      fits = is_text;
      break;
    case ColumnType::bag:
      fits = (format == "+l" || format == "+L") && words == nullptr &&
             arrow::is_text(column.schema->children[0]->format);
      break;
    case ColumnType::date:
    case ColumnType::time:
    case ColumnType::clock:
      fits = words == nullptr && arrow::units_a_day(format) != 0.0;
      break;
    default:
      fits = words == nullptr && format.size() == 1 &&
             std::string_view("gfcCsSiIlLbn").find(format[0]) != std::string_view::npos;
  }
  if (!fits)
    throw nb::type_error(
        ("column " + plan.name + " has the format " + std::string(format)).c_str());
}

class TableEncoder {
 public:
  using Spec = std::tuple<std::string, std::string, int64_t, double, double>;

  TableEncoder(const std::vector<Spec> &columns, std::vector<std::vector<int>> interactions,
               int64_t hashed_begin, int bits, int ngrams, bool float64, size_t names)
      : float64_(float64) {
    plan_ = {{}, std::move(interactions), hashed_begin, bits, ngrams};
    for (const auto &[name, type, first, offset, scale] : columns)
      plan_.columns.push_back({name, column_type(type), first, offset, scale});
    for (const std::vector<int> &crossed : plan_.interactions)
      for (int part : crossed) {
        if (part < 0 || part >= static_cast<int>(columns.size()))
          throw nb::index_error("an interaction is of a column that is not there");
        if (plan_.columns[static_cast<size_t>(part)].type >= ColumnType::text)
          throw nb::value_error("text and lists cannot be crossed");
      }
    if (bits < 1 || bits > 30) throw nb::value_error("bits must be from 1 to 30");
    if (names) names_ = std::make_unique<SlotNames>(bits, names);
  }

  using Chosen = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

  nb::tuple encode(nb::handle schema, nb::handle array, std::optional<Chosen> chosen) {
    const arrow::Column batch = array_in(schema, array);
    const int64_t rows = batch.array->length;
    const auto columns = columns_in(batch);
    if (columns.size() != plan_.columns.size())
      throw nb::value_error("the batch has another number of columns");
    for (size_t c = 0; c < columns.size(); ++c) check_format(plan_.columns[c], columns[c]);
    if (chosen && static_cast<int64_t>(chosen->shape(0)) != rows)
      throw nb::value_error("there must be a choice for every row");
    const uint8_t *choice = chosen ? chosen->data() : nullptr;
    return float64_ ? encode_as<double>(columns, rows, choice)
                    : encode_as<float>(columns, rows, choice);
  }

  nb::tuple names() const { return names_seen(names_.get()); }

 private:
  template <class Value>
  nb::tuple encode_as(const std::vector<arrow::Column> &columns, int64_t n, const uint8_t *chosen) {
    table::EncodedRows<Value> rows;
    {
      nb::gil_scoped_release release;
      rows = table::encode<Value>(plan_, columns, n, chosen, names_.get(), memory_);
    }
    return nb::make_tuple(to_array<int64_t>(std::move(rows.indptr)),
                          to_array<int32_t>(std::move(rows.indices)),
                          to_array<Value>(std::move(rows.values)), list_of(rows.too_large));
  }

  static nb::list list_of(const std::vector<table::BadValue> &values) {
    nb::list list;
    for (const auto &[row, column, text] : values)
      list.append(nb::make_tuple(row, column, nb::bytes(text.data(), text.size())));
    return list;
  }

  table::Plan plan_;
  bool float64_;
  std::unique_ptr<SlotNames> names_;
  const Memory memory_ = std::make_shared<Recycled>();
};

NewDoubles column_numbers(nb::handle schema, nb::handle array) {
  const arrow::Column column = array_in(schema, array);
  auto numbers = new_array<double>({static_cast<size_t>(column.array->length)});
  arrow::numbers(column, 0, column.array->length, numbers.data());
  return numbers;
}

NewDoubles number_matrix(nb::handle schema, nb::handle array) {
  const arrow::Column batch = array_in(schema, array);
  const auto columns = columns_in(batch);
  const int64_t rows = batch.array->length;
  auto numbers = new_array<double>({columns.size(), static_cast<size_t>(rows)});
  double *at = numbers.data();
  for (const arrow::Column &column : columns) {
    arrow::numbers(column, 0, rows, at);
    at += rows;
  }
  return numbers;
}

arrow::Column words_in(nb::handle schema, nb::handle array) {
  const arrow::Column words = array_in(schema, array);
  if (!arrow::is_text(words.format())) throw nb::type_error("it is no array of words");
  return words;
}

nb::tuple written_numbers(nb::handle schema, nb::handle array, const std::string &decimal,
                          const std::string &thousands, const std::vector<std::string> &missing) {
  const arrow::Column words = words_in(schema, array);
  std::vector<double> numbers(static_cast<size_t>(words.array->length), arrow::kMissing);
  std::vector<int64_t> wrong;
  {
    nb::gil_scoped_release release;
    wrong =
        written::read_numbers(words, missing, decimal.c_str()[0], thousands.c_str()[0], numbers);
  }
  return nb::make_tuple(to_numpy(std::move(numbers)), to_numpy(std::move(wrong)));
}

nb::tuple written_dates(nb::handle schema, nb::handle array, const std::string &order,
                        const std::vector<std::string> &missing) {
  const arrow::Column words = words_in(schema, array);
  std::string sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (!order.empty() && sorted != "dmy")
    throw nb::value_error("a date has a day, a month and a year");
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> times(static_cast<size_t>(words.array->length), kNone), wrong;
  bool has_clock;
  {
    nb::gil_scoped_release release;
    wrong = written::read_times(words, missing, order, times, has_clock);
  }
  return nb::make_tuple(to_numpy(std::move(times)), to_numpy(std::move(wrong)), has_clock);
}

}  // namespace

void bind_table(nb::module_ &m) {
  nb::class_<TableEncoder>(m, "TableEncoder", "Turns record batches into sparse rows.")
      .def(nb::init<const std::vector<TableEncoder::Spec> &, std::vector<std::vector<int>>, int64_t,
                    int, int, bool, size_t>(),
           nb::arg("columns"), nb::arg("interactions"), nb::arg("hashed_begin"), nb::arg("bits"),
           nb::arg("ngrams"), nb::arg("float64"), nb::arg("names"))
      .def(
          "encode", &TableEncoder::encode, nb::arg("schema"), nb::arg("array"),
          nb::arg("chosen") = nb::none(),
          "Encode a record batch, given as the two capsules of __arrow_c_array__: all rows, or\n"
          "those whose byte in `chosen` is not zero.\n\n"
          "Returns indptr, indices and values; and row, column and text of each value that is too\n"
          "large, whose row is left empty.")
      .def("names", &TableEncoder::names,
           "Return the slots that have a name, where each name ends, and the text of all.");
  m.def("number_matrix", number_matrix, nb::arg("schema"), nb::arg("array"),
        "Read the columns of a batch as the rows of a matrix, with NaN for missing values.");
  m.def("column_numbers", column_numbers, nb::arg("schema"), nb::arg("array"),
        "Read an array as numbers, times as days, with NaN for missing values.");
  m.def(
      "written_numbers", written_numbers, nb::arg("schema"), nb::arg("array"), nb::arg("decimal"),
      nb::arg("thousands"), nb::arg("missing"),
      "Read an array of words as numbers, with currencies and per cent around them; with an empty\n"
      "decimal point as plain numbers of CSV.\n\n"
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
