// The weights of a bank's models, computed from its state.
#pragma once

#include <cstdint>

#include "learn/bank_args.hpp"
#include "learn/proximal.hpp"

namespace polyak {

template <class W>
bool averaged(const BankArgs<W> &args, int64_t k) {
  return !args.settings.proximal && args.models.start[k] >= 0.0 && args.models.total[k] > 0.0;
}

// Writes the weights of the models from `begin` to before `end`, as features x models: those of the
// average, of the iterate before averaging began, or of the last iterate.
template <class W>
void read_out(const BankArgs<W> &args, bool last, int64_t begin, int64_t end, W *to) {
  const Models &m = args.models;
  const int64_t K = m.count, wanted = end - begin;
  for (int64_t k = begin; k < end; ++k) {
    const bool mean = !last && averaged(args, k);
    const double of_v = mean ? m.tau[k] / m.total[k] : m.scale[k];
    const double of_u = mean ? 1.0 / m.total[k] : 0.0;
    for (int64_t j = 0; j < args.features; ++j) {
      const W *line = args.lines + j * 2 * K;
      to[j * wanted + k - begin] = static_cast<W>(of_v * line[k] + of_u * line[K + k]);
    }
  }
}

// The same for proximal steps, whose weights are always those of the last iterate.
template <class W>
void read_out_proximal(const BankArgs<W> &args, int64_t begin, int64_t end, W *to) {
  const portable::ProximalRates<W> rates(args);
  for (int64_t j = 0; j < args.features; ++j) {
    const W *line = args.lines + j * 2 * rates.K;
    const W q = portable::root_of_size<W>(args.squares[j]);
    for (int64_t k = begin; k < end; ++k)
      *to++ = rates.weight(k, line[k], line[rates.K + k], q, args.settings.positive);
  }
}

}  // namespace polyak
