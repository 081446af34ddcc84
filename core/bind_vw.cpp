// The parser of VW text as Python sees it: bytes in, arrays out, the interpreter free meanwhile.
#include "bind_text.hpp"
#include "vw.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;

template <class Value>
nb::tuple parse_as(const Text &text, const vw::Options &options) {
  vw::Rows<Value> rows;
  {
    nb::gil_scoped_release release;
    rows = vw::parse<Value>(text.data(), text.size(), options);
  }
  size_t n = static_cast<size_t>(rows.indptr.back());
  nb::dict names;
  for (const auto &[slot, name] : rows.names)
    names[nb::int_(slot)] = nb::bytes(name.data(), name.size());
  nb::object weights = nb::none();
  if (!rows.weights.empty()) weights = to_numpy(std::move(rows.weights));
  return nb::make_tuple(to_numpy(std::move(rows.targets)), weights,
                        to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.indices), n),
                        to_numpy(std::move(rows.values), n), rows.unlabelled, rows.lines,
                        rows.bad_lines, bad_lines(rows.first_bad), names);
}

nb::tuple parse_vw(nb::handle source, bool float64, int bits, bool need_labels, bool skip_bad_lines,
                   bool with_names) {
  if (bits < 1 || bits > 31) throw nb::value_error("bits must be between 1 and 31");
  Text text(source);
  vw::Options options{bits, need_labels, skip_bad_lines, with_names};
  return float64 ? parse_as<double>(text, options) : parse_as<float>(text, options);
}

}  // namespace

void bind_vw(nb::module_ &m) {
  m.def("parse_vw", parse_vw, nb::arg("text"), nb::kw_only(), nb::arg("float64"), nb::arg("bits"),
        nb::arg("need_labels"), nb::arg("skip_bad_lines"), nb::arg("with_names") = false,
        "Parse whole lines of VW text.\n\n"
        "Returns targets (NaN where there is no label), weights (None if all are one), indptr,\n"
        "indices, values, the number of rows left out for want of a label, the number of lines,\n"
        "the number of bad ones, and of the first ten of these the line (from zero), the text\n"
        "and the reason; and a name for every slot that was seen, if asked for.");
}
