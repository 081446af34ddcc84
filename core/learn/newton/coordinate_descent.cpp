#include "learn/newton/coordinate_descent.hpp"

#include <cmath>
#include <vector>

namespace polyak {
namespace {

class CoordinateDescent {
 public:
  CoordinateDescent(const PenalizedQuadratic &goal, double *v) : q(goal), v(v) {
    slope.assign(q.c, q.c + q.n);
    for (int64_t j = 0; j < q.n; ++j) {
      if (v[j] < q.lowest[j]) v[j] = q.lowest[j];
      if (v[j] != 0.0) add_row(j, v[j]);
    }
  }

  bool descend(double enough, int64_t rounds) {
    for (int64_t round = 0; round < rounds; ++round) {
      double change = 0.0;
      for (int64_t j = 0; j < q.n; ++j) change = std::fmax(change, move(j));
      if (!(change > enough)) return change <= enough;
      list_active();
      // A few cheap sweeps first, then the equations of the coordinates that are not zero.
      int64_t sweeps = 20 + static_cast<int64_t>(active.size()) / 4;
      for (; change > enough && sweeps > 0; --sweeps) {
        change = 0.0;
        for (int64_t j : active) change = std::fmax(change, move(j));
      }
      if (change > enough) jump();
    }
    return false;
  }

 private:
  void add_row(int64_t j, double step) {
    const double *row = q.H + j * q.n;
    for (int64_t i = 0; i < q.n; ++i) slope[i] += step * row[i];
  }

  // Minimises along one coordinate. Returns about twice the decrease of the objective.
  double move(int64_t j) {
    const double curvature = q.curvature(j);
    if (!(curvature > 0.0)) return 0.0;
    const double pull = q.H[j * q.n + j] * v[j] - slope[j];
    const double size = std::fabs(pull) - q.threshold[j];
    double best = size > 0.0 ? std::copysign(size, pull) / curvature : 0.0;
    if (best < q.lowest[j]) best = q.lowest[j];
    const double step = best - v[j];
    if (step == 0.0) return 0.0;
    v[j] = best;
    add_row(j, step);
    return curvature * step * step;
  }

  void list_active() {
    active.clear();
    for (int64_t j = 0; j < q.n; ++j)
      if ((v[j] != 0.0 || q.is_free(j)) && q.curvature(j) > 0.0) active.push_back(j);
  }

  // Solves the equations of the coordinates that are not zero. Coordinates whose sign would change
  // become zero; if that increases the objective, the step ends where the first of them is zero.
  void jump() {
    list_active();
    const int64_t k = static_cast<int64_t>(active.size());
    std::vector<double> L(static_cast<size_t>(k * k)), step(static_cast<size_t>(k));
    for (int64_t a = 0; a < k; ++a) {
      const int64_t i = active[a];
      for (int64_t b = 0; b < a; ++b) L[a * k + b] = q.H[i * q.n + active[b]];
      L[a * k + a] = q.curvature(i);
      const double side = v[i] == 0.0 ? 0.0 : std::copysign(q.threshold[i], v[i]);
      step[a] = -(slope[i] + q.ridge[i] * v[i] + side);
    }
    solve(L, step, k);
    double length = 1.0;
    for (int64_t a = 0; a < k; ++a) length = std::fmin(length, until_zero(a, step[a]));
    if (go(step, 1.0) > 0.0) go(step, length);
  }

  // The share of a step after which the a-th active coordinate is zero; 2 if it does not get there.
  double until_zero(int64_t a, double step) const {
    const double here = v[active[a]];
    return !q.is_free(active[a]) && (here + step) * here < 0.0 ? here / -step : 2.0;
  }

  // Takes `length` times a step, unless the objective would increase. Returns the change of the
  // objective in either case.
  double go(const std::vector<double> &step, double length) {
    const std::vector<double> slope_before = slope;
    std::vector<double> before(step.size());
    double change = 0.0;
    for (size_t a = 0; a < step.size(); ++a) {
      const int64_t i = active[a];
      const double here = before[a] = v[i];
      const double there =
          until_zero(static_cast<int64_t>(a), step[a]) <= length ? 0.0 : here + length * step[a];
      v[i] = there;
      add_row(i, there - here);
      change += 0.5 * q.ridge[i] * (there * there - here * here) +
                q.threshold[i] * (std::fabs(there) - std::fabs(here));
    }
    for (size_t a = 0; a < step.size(); ++a) {
      const int64_t i = active[a];
      change += 0.5 * (v[i] - before[a]) * (slope_before[i] + slope[i]);
    }
    if (change <= 0.0) return change;
    for (size_t a = 0; a < step.size(); ++a) v[active[a]] = before[a];
    slope = slope_before;
    return change;
  }

  // Solves in place by a Cholesky factor. Pivots of dependent columns are raised a little; the step
  // is a descent direction nevertheless.
  static void solve(std::vector<double> &L, std::vector<double> &x, int64_t k) {
    for (int64_t a = 0; a < k; ++a) {
      double *row = &L[a * k];
      for (int64_t b = 0; b <= a; ++b) {
        const double *other = &L[b * k];
        double left = row[b];
        for (int64_t i = 0; i < b; ++i) left -= row[i] * other[i];
        row[b] = a > b ? left / other[b] : std::sqrt(std::fmax(left, 1e-9 * row[a]));
      }
      for (int64_t i = 0; i < a; ++i) x[a] -= row[i] * x[i];
      x[a] /= row[a];
    }
    for (int64_t a = k; a-- > 0;) {
      x[a] /= L[a * k + a];
      for (int64_t i = 0; i < a; ++i) x[i] -= L[a * k + i] * x[a];
    }
  }

  const PenalizedQuadratic q;
  double *v;
  std::vector<double> slope;  // of the quadratic without the ridge: H v + c
  std::vector<int64_t> active;
};

}  // namespace

bool descend(const PenalizedQuadratic &goal, double *v, double enough, int64_t rounds) {
  return CoordinateDescent(goal, v).descend(enough, rounds);
}

}  // namespace polyak
