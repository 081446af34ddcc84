// The learning loops of ASGD and of the algorithms that the paper compares it with, written in one
// style, so that their times compare algorithms. Each class holds its whole state, learns one row
// (or mini-batch) after the other, and reads like the publication it is from; docs/rivals.md says
// what differs. Rows are float32, dense or compressed sparse, and have no intercept, as in the
// paper's Algorithm 1. `learn` returns false once a score is not finite.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nanobind::literals;

namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Targets = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = std::vector<double>;

// -- rows -----------------------------------------------------------------------------------------

struct DenseRow {
  const float *value;
  int64_t size;

  int64_t feature(int64_t i) const { return i; }
};

struct SparseRow {
  const float *value;
  const int32_t *index;
  int64_t size;

  int64_t feature(int64_t i) const { return index[i]; }
};

template <class Row>
double dot(const Row &row, const double *v) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < row.size; ++i) sum += row.value[i] * v[row.feature(i)];
  return sum;
}

template <class Row>
void add(const Row &row, double step, double *v) {
#pragma omp simd
  for (int64_t i = 0; i < row.size; ++i) v[row.feature(i)] += step * row.value[i];
}

double dot(const Weights &a, const Weights &b) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

void add(const Weights &from, double step, Weights &to) {
#pragma omp simd
  for (size_t j = 0; j < to.size(); ++j) to[j] += step * from[j];
}

struct DenseRows {
  const float *values;
  int64_t count, width;

  DenseRow operator[](int64_t i) const { return {values + i * width, width}; }
};

struct SparseRows {
  const int64_t *offsets;
  const int32_t *indices;
  const float *values;
  int64_t count;

  SparseRow operator[](int64_t i) const {
    return {values + offsets[i], indices + offsets[i], offsets[i + 1] - offsets[i]};
  }
};

// -- losses ---------------------------------------------------------------------------------------

struct SquaredError {
  static double value(double s, double y) { return 0.5 * (y - s) * (y - s); }
  static double slope(double s, double y) { return s - y; }
};
struct SquaredHinge {
  static double value(double s, double y) {
    const double short_of = std::max(0.0, 1.0 - y * s);
    return 0.5 * short_of * short_of;
  }
  static double slope(double s, double y) { return -y * std::max(0.0, 1.0 - y * s); }
};
struct Hinge {
  static double value(double s, double y) { return std::max(0.0, 1.0 - y * s); }
  static double slope(double s, double y) { return y * s < 1.0 ? -y : 0.0; }
};
struct LogLoss {
  static double value(double s, double y) {
    return std::max(0.0, -y * s) + std::log1p(std::exp(-std::abs(s)));
  }
  static double slope(double s, double y) { return -y / (1.0 + std::exp(y * s)); }
};

// -- algorithms -----------------------------------------------------------------------------------

// The iterate as scale * v, so that the penalty costs one multiplication a row.
struct ScaledVector {
  Weights v;
  double scale = 1.0;

  template <class Row>
  double score(const Row &row) const {
    return scale * dot(row, v.data());
  }
  template <class Row>
  void move(const Row &row, double step) {
    add(row, step / scale, v.data());
  }
  // Returns whether v has changed: a scale that is too small to divide by is folded into it.
  bool multiply(double factor) {
    scale *= factor;
    if (std::abs(scale) >= 1e-100) return false;
    for (double &weight : v) weight *= scale;
    scale = 1.0;
    return true;
  }
  Weights weights() const {
    Weights found(v);
    for (double &weight : found) weight *= scale;
    return found;
  }
};

// SGD with the rate gamma0 / (1 + alpha gamma0 t), t being `first` for the first row; with
// alpha = 0 in `decay` the rate is constant.
struct Sgd {
  double alpha, gamma0, decay, t;
  ScaledVector w;

  Sgd(int64_t features, double alpha, double gamma0, double decay, double first)
      : alpha(alpha), gamma0(gamma0), decay(decay), t(first), w{Weights(features)} {}

  template <class Loss, class Rows>
  bool learn(const Rows &rows, const double *y) {
    for (int64_t i = 0; i < rows.count; ++i, ++t) {
      const auto row = rows[i];
      const double score = w.score(row);
      if (!std::isfinite(score)) return false;
      const double gamma = gamma0 / (1.0 + decay * gamma0 * t), slope = Loss::slope(score, y[i]);
      w.multiply(1.0 - alpha * gamma);
      if (slope != 0.0) w.move(row, -gamma * slope);
    }
    return true;
  }
  Weights weights() const { return w.weights(); }
};

// ASGD as the paper prints it, see reproduction/algorithm1.py: u and u_hat are updated only where
// the row is not zero. Before averaging begins, the moving average of the iterates that section 5
// compares them with is kept in the same way, with eta = 0.01 (unless t0 is given).
struct Asgd {
  double lambda, gamma0, power;
  int64_t t0;  // the row after which averaging begins; -1 until the rule of section 5 finds it
  Weights u, u_hat;
  int64_t t = 0;
  double alpha = 1.0, beta = 1.0, tau = 0.0, moving = 0.0, moving_hat = 0.0;

  Asgd(int64_t features, double lambda, double gamma0, double power, int64_t t0)
      : lambda(lambda), gamma0(gamma0), power(power), t0(t0), u(features), u_hat(features) {}

  template <class Loss, class Rows>
  bool learn(const Rows &rows, const double *y) {
    for (int64_t i = 0; i < rows.count; ++i) {
      const auto row = rows[i];
      const double in_u = dot(row, u.data()), score = in_u / alpha;
      if (!std::isfinite(score)) return false;
      ++t;
      const bool searching = t0 < 0;
      if (searching) {
        const double score_hat = (tau * in_u + dot(row, u_hat.data())) / beta;
        moving = 0.99 * moving + 0.01 * Loss::value(score, y[i]);
        moving_hat = 0.99 * moving_hat + 0.01 * Loss::value(score_hat, y[i]);
        if (moving_hat < moving) t0 = t;
      }
      const bool averaging = !searching && t > t0 + 1;
      const double gamma = gamma0 * std::pow(1.0 + lambda * gamma0 * double(t), -power);
      const double eta = averaging ? 1.0 / double(t - t0) : searching ? 0.01 : 0.0;
      const double slope = Loss::slope(score, y[i]);
      alpha /= 1.0 - lambda * gamma;
      beta /= 1.0 - eta;
      if (slope != 0.0) {
        add(row, -alpha * gamma * slope, u.data());
        if (tau != 0.0) add(row, tau * alpha * gamma * slope, u_hat.data());
      }
      tau += eta * beta / alpha;
      if (alpha > 1e100 || beta > 1e100) restart(average());
      if (t == t0 + 1 && !searching) restart(iterate());
    }
    return true;
  }

  // Begin Algorithm 1 anew with the iterate as it is, and this average.
  void restart(Weights average) {
    u = iterate();
    u_hat = std::move(average);
    alpha = beta = 1.0;
    tau = 0.0;
  }
  Weights iterate() const {
    Weights found(u);
    for (double &weight : found) weight /= alpha;
    return found;
  }
  Weights average() const {
    Weights found(u_hat);
    for (size_t j = 0; j < u.size(); ++j) found[j] = (tau * u[j] + u_hat[j]) / beta;
    return found;
  }
  Weights weights() const { return t0 >= 0 && t > t0 ? average() : iterate(); }
};

// Pegasos (Shalev-Shwartz, Singer and Srebro, 2007) with mini-batches of one row: steps of
// 1 / (alpha t), and a ball of radius 1 / sqrt(alpha) that holds the iterate.
struct Pegasos {
  double alpha, t = 0.0, square = 0.0;  // square: the squared norm of v
  ScaledVector w;

  Pegasos(int64_t features, double alpha) : alpha(alpha), w{Weights(features)} {}

  template <class Loss, class Rows>
  bool learn(const Rows &rows, const double *y) {
    for (int64_t i = 0; i < rows.count; ++i) {
      const auto row = rows[i];
      const double score = w.score(row);
      if (!std::isfinite(score)) return false;
      const double slope = Loss::slope(score, y[i]);
      t += 1.0;
      if (w.multiply(1.0 - 1.0 / t)) square = dot(w.v, w.v);
      if (slope != 0.0) {
        const double step = -slope / (alpha * t) / w.scale;
        square += 2.0 * step * dot(row, w.v.data()) + step * step * squared_norm(row);
        add(row, step, w.v.data());
      }
      const double norm = w.scale * w.scale * square;
      if (norm * alpha > 1.0 && w.multiply(1.0 / std::sqrt(norm * alpha))) square = dot(w.v, w.v);
    }
    return true;
  }
  template <class Row>
  static double squared_norm(const Row &row) {
    double sum = 0;
    for (int64_t i = 0; i < row.size; ++i) sum += double(row.value[i]) * row.value[i];
    return sum;
  }
  Weights weights() const { return w.weights(); }
};

// SGD-QN (Bordes, Bottou and Gallinari, 2009): a gain for each coordinate, from ratios of
// differences. With t0 = 0 as in the authors' program of sgd-2.x, which has the erratum of 2010;
// with t0 > 0 as printed in 2009, where the gains stand beside a common 1 / (t + t0).
struct SgdQn {
  double alpha, t0;
  int64_t skip;
  Weights w, gain, before;
  double t = 0.0, last = 0.0, measured = 2.0;
  int64_t until;
  bool measure = false;

  SgdQn(int64_t features, double alpha, double gamma0, double t0, int64_t skip)
      : alpha(alpha),
        t0(t0),
        skip(skip),
        w(features),
        gain(features, t0 > 0.0 ? 1.0 / alpha : gamma0),
        before(features),
        until(skip) {}

  template <class Loss, class Rows>
  bool learn(const Rows &rows, const double *y) {
    for (int64_t i = 0; i < rows.count; ++i)
      if (!(t0 > 0.0 ? own_row<Loss>(rows[i], y[i]) : next_row<Loss>(rows[i], y[i]))) return false;
    return true;
  }

  // sgd-2.x: the row after a penalty gives its gradient with the weights now and before.
  template <class Loss, class Row>
  bool next_row(const Row &row, double y) {
    const double score = dot(row, w.data());
    if (!std::isfinite(score)) return false;
    const double slope = Loss::slope(score, y);
    t += 1.0;
    if (measure) {
      const double change = slope - Loss::slope(dot(row, before.data()), y);
      measure = false;
      if (change != 0.0) stiffen(row, change);
    }
    if (penalty_is_due()) {
      before = w;
      for (size_t j = 0; j < w.size(); ++j) w[j] -= alpha * double(skip) * gain[j] * w[j];
    }
    step(row, -slope);
    return true;
  }

  // As printed in 2009: the row after a penalty is measured before and after its own step.
  template <class Loss, class Row>
  bool own_row(const Row &row, double y) {
    const double score = dot(row, w.data()), rate = 1.0 / (t + t0);
    if (!std::isfinite(score)) return false;
    const double slope = Loss::slope(score, y);
    step(row, -rate * slope);
    if (measure) {
      const double after = slope != 0.0 ? Loss::slope(dot(row, w.data()), y) : 0.0;
      average(row, slope != 0.0 ? (slope - after) / slope : 0.0, rate);
      measure = false;
    }
    if (penalty_is_due())
      for (size_t j = 0; j < w.size(); ++j) w[j] -= rate * alpha * double(skip) * gain[j] * w[j];
    t += 1.0;
    return true;
  }

  template <class Row>
  void step(const Row &row, double size) {
    if (size == 0.0) return;
#pragma omp simd
    for (int64_t i = 0; i < row.size; ++i) {
      const int64_t j = row.feature(i);
      w[j] += size * gain[j] * row.value[i];
    }
  }

  bool penalty_is_due() {
    if (--until > 0) return false;
    until = skip;
    return measure = true;
  }

  // 1 / gain grows by the curvature found times the rows since the last measurement; features that
  // the row does not have, and weights that did not move, have bounds in its place.
  template <class Row>
  void stiffen(const Row &row, double change) {
    const double rows = t - last;
    last = t;
    const auto stiffer = [&](double g, double curvature) {
      return g / (1.0 + rows * curvature * g);
    };
    for (double &g : gain) g = stiffer(g, alpha);
    for (int64_t i = 0; i < row.size; ++i) {
      const double x = row.value[i];
      if (x == 0.0) continue;
      const int64_t j = row.feature(i);
      const double moved = w[j] - before[j];
      double curvature = 101.0 * alpha;
      if (moved != 0.0)
        curvature = std::min(std::max(alpha + change * x / moved, 0.1 * alpha), 100.0 * alpha);
      gain[j] = stiffer(gain[j], curvature - alpha);
    }
  }

  // A mean of ratios with weights of two over their number; `share` is the share of the slope that
  // the row's own step took away.
  template <class Row>
  void average(const Row &row, double share, double rate) {
    const double weight = 2.0 / measured;
    measured += 1.0;
    std::fill(before.begin(), before.end(), 0.0);
    for (int64_t i = 0; i < row.size; ++i)
      if (row.value[i] != 0) before[row.feature(i)] = share;
    for (size_t j = 0; j < gain.size(); ++j) {
      const double ratio = 1.0 / (alpha + before[j] / (rate * gain[j]));
      gain[j] = std::max(gain[j] + weight * (ratio - gain[j]), 0.01 / alpha);
    }
  }
  Weights weights() const { return w; }
};

// Online limited-memory BFGS (Schraudolph, Yu and Günter, 2007). Each mini-batch is looked at
// twice, before and after the step, so that the difference of gradients is free of the noise
// between batches. The gain is eta0 tau / (tau + t).
struct Olbfgs {
  // Short enough to be nowhere near too long, and long enough to measure a difference: the 1e-10 of
  // the publication leaves six digits of it.
  static constexpr double first_step = 1e-6;

  double alpha, eta0, tau, damping, t = 0.0;
  int64_t batch, memory;
  Weights w, gradient_before, p;
  std::vector<Weights> moves, changes;  // the pairs of differences, the newest last

  Olbfgs(int64_t features, double alpha, double eta0, double tau, double damping, int64_t batch,
         int64_t memory)
      : alpha(alpha),
        eta0(eta0),
        tau(tau),
        damping(damping),
        batch(batch),
        memory(memory),
        w(features),
        gradient_before(features),
        p(features) {}

  template <class Loss, class Rows>
  bool learn(const Rows &rows, const double *y) {
    for (int64_t begin = 0; begin < rows.count; begin += batch)
      if (!step<Loss>(rows, y, begin, std::min(rows.count, begin + batch))) return false;
    return true;
  }

  template <class Loss, class Rows>
  bool gradient(const Rows &rows, const double *y, int64_t begin, int64_t end, Weights &out) const {
    for (size_t j = 0; j < w.size(); ++j) out[j] = alpha * w[j];
    for (int64_t i = begin; i < end; ++i) {
      const auto row = rows[i];
      const double score = dot(row, w.data());
      if (!std::isfinite(score)) return false;
      const double slope = Loss::slope(score, y[i]) / double(end - begin);
      if (slope != 0.0) add(row, slope, out.data());
    }
    return true;
  }

  // The two loops of limited-memory BFGS, with the mean of all ratios between them where batch
  // L-BFGS has only the newest.
  void direct() {
    const int64_t stored = static_cast<int64_t>(moves.size());
    std::vector<double> alphas(moves.size());
    double ratios = 0.0;
    for (int64_t k = stored - 1; k >= 0; --k) {
      const double product = dot(moves[k], changes[k]);
      alphas[k] = dot(moves[k], p) / product;
      ratios += product / dot(changes[k], changes[k]);
      add(changes[k], -alphas[k], p);
    }
    const double first = stored > 0 ? ratios / double(stored) : first_step;
    for (double &value : p) value *= first;
    for (int64_t k = 0; k < stored; ++k)
      add(moves[k], alphas[k] - dot(changes[k], p) / dot(moves[k], changes[k]), p);
  }

  template <class Loss, class Rows>
  bool step(const Rows &rows, const double *y, int64_t begin, int64_t end) {
    if (!gradient<Loss>(rows, y, begin, end, gradient_before)) return false;
    p = gradient_before;
    direct();
    const double eta = eta0 * tau / (tau + t);
    t += 1.0;
    Weights move(w.size()), change(w.size());
    for (size_t j = 0; j < w.size(); ++j) move[j] = -eta * p[j];
    add(move, 1.0, w);
    if (!gradient<Loss>(rows, y, begin, end, change)) return false;
    for (size_t j = 0; j < w.size(); ++j) change[j] += damping * move[j] - gradient_before[j];
    if (dot(move, change) > 0.0) {  // else the pair would turn the next step uphill
      if (static_cast<int64_t>(moves.size()) == memory) {
        moves.erase(moves.begin());
        changes.erase(changes.begin());
      }
      moves.push_back(std::move(move));
      changes.push_back(std::move(change));
    }
    return true;
  }
  Weights weights() const { return w; }
};

// -- the module -----------------------------------------------------------------------------------

template <class Rival, class Rows>
bool learn_with(Rival &rival, const std::string &loss, const Rows &rows, const double *y) {
  nb::gil_scoped_release release;
  if (loss == "squared_error") return rival.template learn<SquaredError>(rows, y);
  if (loss == "squared_hinge") return rival.template learn<SquaredHinge>(rows, y);
  if (loss == "hinge") return rival.template learn<Hinge>(rows, y);
  if (loss == "log_loss") return rival.template learn<LogLoss>(rows, y);
  throw std::invalid_argument("loss must be squared_error, squared_hinge, hinge or log_loss, not " +
                              loss);
}

template <class Rival>
bool learn_sparse(Rival &rival, const std::string &loss, Offsets offsets, Indices indices,
                  Floats values, Targets y) {
  const int64_t count = static_cast<int64_t>(y.size());
  const int64_t width = static_cast<int64_t>(rival.weights().size());
  if (static_cast<int64_t>(offsets.size()) != count + 1)
    throw std::invalid_argument("there must be one target for each row");
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices.data()[i] < 0 || indices.data()[i] >= width)
      throw std::invalid_argument("a feature index is out of range");
  const SparseRows rows{offsets.data(), indices.data(), values.data(), count};
  return learn_with(rival, loss, rows, y.data());
}

template <class Rival>
bool learn_dense(Rival &rival, const std::string &loss, Floats values, Targets y) {
  const int64_t count = static_cast<int64_t>(y.size());
  const int64_t width = static_cast<int64_t>(rival.weights().size());
  if (static_cast<int64_t>(values.size()) != count * width)
    throw std::invalid_argument("the rows do not have the shape of targets times weights");
  return learn_with(rival, loss, DenseRows{values.data(), count, width}, y.data());
}

template <class Rival>
nb::class_<Rival> bind(nb::module_ &m, const char *name) {
  return nb::class_<Rival>(m, name)
      .def("learn_sparse", &learn_sparse<Rival>, "loss"_a, "offsets"_a, "indices"_a, "values"_a,
           "y"_a)
      .def("learn_dense", &learn_dense<Rival>, "loss"_a, "values"_a, "y"_a)
      .def("coef", [](const Rival &rival) {
        auto *found = new Weights(rival.weights());
        nb::capsule owner(found, [](void *p) noexcept { delete static_cast<Weights *>(p); });
        return nb::ndarray<nb::numpy, double, nb::ndim<1>>(found->data(), {found->size()}, owner);
      });
}

}  // namespace

NB_MODULE(_kernels, m) {
  m.doc() = "The learning loops of ASGD and its rivals.";
  bind<Asgd>(m, "Asgd").def(nb::init<int64_t, double, double, double, int64_t>(), "features"_a,
                            "alpha"_a, "gamma0"_a, "power"_a, "t0"_a);
  bind<Sgd>(m, "Sgd").def(nb::init<int64_t, double, double, double, double>(), "features"_a,
                          "alpha"_a, "gamma0"_a, "decay"_a, "first"_a);
  bind<Pegasos>(m, "Pegasos").def(nb::init<int64_t, double>(), "features"_a, "alpha"_a);
  bind<SgdQn>(m, "SgdQn")
      .def(nb::init<int64_t, double, double, double, int64_t>(), "features"_a, "alpha"_a,
           "gamma0"_a, "t0"_a, "skip"_a);
  bind<Olbfgs>(m, "Olbfgs")
      .def(nb::init<int64_t, double, double, double, double, int64_t, int64_t>(), "features"_a,
           "alpha"_a, "eta0"_a, "tau"_a, "damping"_a, "batch"_a, "memory"_a);
}
