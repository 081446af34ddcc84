#include <nanobind/nanobind.h>

void bind_svmlight(nanobind::module_ &) {}
