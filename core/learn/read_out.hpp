// From what a bank keeps to the weights that it stands for.
#pragma once

#include <cstdint>

#include "learn/bank_args.hpp"
#include "learn/proximal.hpp"

namespace polyak {

template <class W>
bool averaged(const BankArgs<W> &view, int64_t k) {
  return !view.settings.proximal && view.models.start[k] >= 0.0 && view.models.total[k] > 0.0;
}

// The weights of the models from `begin` to before `end`, as features x models: of the average, or
// of the iterate before averaging began, or of the last iterate.
template <class W>
void read_out(const BankArgs<W> &view, bool last, int64_t begin, int64_t end, W *to) {
  const Models &m = view.models;
  const int64_t K = m.count, wanted = end - begin;
  for (int64_t k = begin; k < end; ++k) {
    const bool mean = !last && averaged(view, k);
    const double of_v = mean ? m.tau[k] / m.total[k] : m.scale[k];
    const double of_u = mean ? 1.0 / m.total[k] : 0.0;
    for (int64_t j = 0; j < view.features; ++j) {
      const W *line = view.lines + j * 2 * K;
      to[j * wanted + k - begin] = static_cast<W>(of_v * line[k] + of_u * line[K + k]);
    }
  }
}

// The same with proximal steps, whose last iterate is the answer.
template <class W>
void read_out_proximal(const BankArgs<W> &view, int64_t begin, int64_t end, W *to) {
  const portable::ProximalRates<W> rates(view);
  for (int64_t j = 0; j < view.features; ++j) {
    const W *line = view.lines + j * 2 * rates.K;
    const W q = portable::root_of_size<W>(view.squares[j]);
    for (int64_t k = begin; k < end; ++k)
      *to++ = rates.weight(k, line[k], line[rates.K + k], q, view.settings.positive);
  }
}

}  // namespace polyak
