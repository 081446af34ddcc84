// The encoder of tables as Python sees it: a record batch in, through the Arrow C data interface,
// sparse rows out; the interpreter is free meanwhile.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "python/bind_names.hpp"
#include "rows/gather.hpp"
#include "table/table.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;
using namespace polyak::table;

template <class T>
nb::object buffer_to_numpy(Buffer<T> &&numbers, size_t n) {
  T *kept = numbers.release();
  nb::capsule owner(kept, [](void *p) noexcept { delete[] static_cast<T *>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept, {n}, owner));
}

template <class T>
const T *pointer(nb::handle capsule, const char *name) {
  void *found = PyCapsule_GetPointer(capsule.ptr(), name);
  if (found == nullptr) throw nb::python_error();
  return static_cast<const T *>(found);
}

// The columns of a batch, which Arrow hands over as an array of structs.
std::vector<arrow::Column> columns_of(const ArrowSchema *schema, const ArrowArray *array) {
  if (std::string_view(schema->format) != "+s") throw nb::type_error("it is no record batch");
  std::vector<arrow::Column> columns;
  for (int64_t i = 0; i < array->n_children; ++i)
    columns.push_back(
        {schema->children[i], array->children[i], array->children[i]->offset + array->offset});
  return columns;
}

ColumnType type_of(const std::string &name) {
  static const char *const kNames[] = {"number", "boolean",  "clock", "date",
                                       "time",   "category", "text",  "bag"};
  for (int i = 0; i < 8; ++i)
    if (name == kNames[i]) return static_cast<ColumnType>(i);
  throw nb::value_error(("there is no kind of column called " + name).c_str());
}

// Whether a column can be read as what it is planned to be. Python converts what cannot.
void check_format(const ColumnPlan &plan, const arrow::Column &column) {
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
      fits = is_text || (words == nullptr && arrow::units_a_day(format) != 0.0);
      break;
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
      plan_.columns.push_back({name, type_of(type), first, offset, scale});
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
    const ArrowArray *batch = pointer<ArrowArray>(array, "arrow_array");
    const auto columns = columns_of(pointer<ArrowSchema>(schema, "arrow_schema"), batch);
    if (columns.size() != plan_.columns.size())
      throw nb::value_error("the batch has another number of columns");
    for (size_t c = 0; c < columns.size(); ++c) check_format(plan_.columns[c], columns[c]);
    if (chosen && static_cast<int64_t>(chosen->shape(0)) != batch->length)
      throw nb::value_error("there must be a choice for every row");
    const uint8_t *choice = chosen ? chosen->data() : nullptr;
    return float64_ ? encode_as<double>(columns, batch->length, choice)
                    : encode_as<float>(columns, batch->length, choice);
  }

  nb::tuple names() const { return names_seen(names_.get()); }

 private:
  template <class Value>
  nb::tuple encode_as(const std::vector<arrow::Column> &columns, int64_t n, const uint8_t *chosen) {
    Rows<Value> rows;
    {
      nb::gil_scoped_release release;
      rows = Encoder<Value>(plan_, columns, n, chosen, names_.get()).run();
    }
    nb::list bad, no_dates;
    for (const BadValue &value : rows.bad)
      bad.append(nb::make_tuple(value.row, value.column,
                                nb::bytes(value.text.data(), value.text.size()), value.reason));
    for (const BadValue &value : rows.no_dates)
      no_dates.append(
          nb::make_tuple(value.row, value.column, nb::bytes(value.text.data(), value.text.size())));
    return nb::make_tuple(to_numpy(std::move(rows.indptr)),
                          buffer_to_numpy(std::move(rows.indices), rows.stored),
                          buffer_to_numpy(std::move(rows.values), rows.stored), bad, no_dates);
  }

  Plan plan_;
  bool float64_;
  std::unique_ptr<SlotNames> names_;
};

// A column as numbers, NaN where it is missing, and what text turns out to be.
nb::tuple column_numbers(nb::handle schema, nb::handle array) {
  const ArrowArray *batch = pointer<ArrowArray>(array, "arrow_array");
  const auto columns = columns_of(pointer<ArrowSchema>(schema, "arrow_schema"), batch);
  if (columns.size() != 1) throw nb::value_error("it takes one column");
  const arrow::Column &column = columns[0];
  std::vector<double> numbers(static_cast<size_t>(batch->length), arrow::kMissing);
  bool is_time = true, has_clock = false;
  if (arrow::is_text(column.format())) {
    bool any = false;
    for (int64_t i = 0; i < batch->length; ++i) {
      if (!column.is_valid(i) || is_missing(arrow::text(column, i))) continue;
      IsoTime time;
      is_time = parse_iso_time(arrow::text(column, i), time);
      if (!is_time) break;
      has_clock = has_clock || time.has_clock;
      numbers[static_cast<size_t>(i)] = days_of(time);
      any = true;
    }
    is_time = is_time && any;
  } else {
    arrow::numbers(column, 0, batch->length, numbers.data());
  }
  return nb::make_tuple(to_numpy(std::move(numbers)), is_time, has_clock);
}

// Columns of numbers as the rows of a matrix, NaN where one is missing.
nb::object number_matrix(nb::handle schema, nb::handle array) {
  const ArrowArray *batch = pointer<ArrowArray>(array, "arrow_array");
  const auto columns = columns_of(pointer<ArrowSchema>(schema, "arrow_schema"), batch);
  const size_t n = static_cast<size_t>(batch->length);
  auto *kept = new double[columns.size() * n];
  nb::capsule owner(kept, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  for (size_t c = 0; c < columns.size(); ++c)
    arrow::numbers(columns[c], 0, batch->length, kept + c * n);
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(kept, {columns.size(), n}, owner));
}

template <class T>
using OneOf = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object taken_spans(OneOf<T> numbers, OneOf<int64_t> begins, OneOf<int64_t> lengths) {
  if (begins.shape(0) != lengths.shape(0)) refuse("begins and lengths differ in number");
  std::vector<T> taken;
  {
    nb::gil_scoped_release release;
    gather(numbers.data(), static_cast<int64_t>(numbers.shape(0)), begins.data(), lengths.data(),
           begins.shape(0), taken);
  }
  return to_numpy(std::move(taken));
}

template <class T>
void bind_spans(nb::module_ &m) {
  m.def("take_spans", taken_spans<T>, nb::arg("numbers").noconvert(), nb::arg("begins"),
        nb::arg("lengths"), "Copy spans of an array one behind the other.");
}

}  // namespace

void bind_table(nb::module_ &m) {
  bind_spans<float>(m);
  bind_spans<double>(m);
  bind_spans<int32_t>(m);
  bind_spans<int64_t>(m);
  nb::class_<TableEncoder>(m, "TableEncoder", "Turns record batches into sparse rows.")
      .def(nb::init<const std::vector<TableEncoder::Spec> &, std::vector<std::vector<int>>, int64_t,
                    int, int, bool, size_t>(),
           nb::arg("columns"), nb::arg("interactions"), nb::arg("hashed_begin"), nb::arg("bits"),
           nb::arg("ngrams"), nb::arg("float64"), nb::arg("names"))
      .def("encode", &TableEncoder::encode, nb::arg("schema"), nb::arg("array"),
           nb::arg("chosen") = nb::none(),
           "Encode a record batch, given as the two capsules of __arrow_c_array__; of its rows\n"
           "those that are not 0 in `chosen`, if there is such an array of bytes.\n\n"
           "Returns indptr, indices, values; of each value that is too large the row, the column,\n"
           "the text and the reason, such rows are left empty; and of each word in a column of\n"
           "dates the row, the column and the text, which is read as missing.")
      .def("names", &TableEncoder::names,
           "Give the slots that have a name, where each name ends, and the text of all.");
  m.def("number_matrix", number_matrix, nb::arg("schema"), nb::arg("array"),
        "Read a batch of columns of numbers as the rows of a matrix, NaN where missing.");
  m.def("column_numbers", column_numbers, nb::arg("schema"), nb::arg("array"),
        "Read a batch of one column as numbers, times as days.\n\n"
        "Returns the numbers, NaN where missing; whether text is a date or time in every row; and\n"
        "whether any has a time of day.");
}
