// The compiled core's Python module: only a list of what the other files bind.
#include <nanobind/nanobind.h>

void bind_bank(nanobind::module_ &m);
void bind_newton(nanobind::module_ &m);
void bind_records(nanobind::module_ &m);
void bind_rows(nanobind::module_ &m);
void bind_table(nanobind::module_ &m);
void bind_text(nanobind::module_ &m);

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of polyak: the bank of averaged models and the readers of text.";
  // A traceback that outlives the interpreter is no leak a user should read about.
  nanobind::set_leak_warnings(false);
  bind_rows(m);  // before the others, which accept and return rows
  bind_bank(m);
  bind_newton(m);
  bind_records(m);
  bind_text(m);
  bind_table(m);
}
