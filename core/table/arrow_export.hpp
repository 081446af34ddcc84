// Columns of numbers and words handed over through the Arrow C data interface: as a record batch
// whose columns are views of one piece of memory, which lives as long as any of them.
#pragma once

#include <memory>
#include <vector>

#include "table/arrow.hpp"
#include "table/csv_columns.hpp"

namespace polyak {
namespace arrow {

using Shared = std::shared_ptr<const table::CsvColumns>;

// Whoever takes a child over from its parent marks it as released, by Arrow's rules.
template <class Node>
struct Owned {
  Shared data;
  const void *buffers[3] = {nullptr, nullptr, nullptr};
  std::vector<Node> nodes;
  std::vector<Node *> children;

  static void release(Node *node) {
    auto *owned = static_cast<Owned *>(node->private_data);
    for (Node &child : owned->nodes)
      if (child.release != nullptr) child.release(&child);
    node->release = nullptr;
    delete owned;
  }

  void adopt(size_t n) {
    nodes.resize(n);
    for (Node &node : nodes) children.push_back(&node);
  }
};

inline ArrowSchema schema_node(Owned<ArrowSchema> *owned, const char *format, const char *name) {
  constexpr int64_t kNullable = 2;
  return {format,
          name,
          nullptr,
          kNullable,
          static_cast<int64_t>(owned->children.size()),
          owned->children.data(),
          nullptr,
          Owned<ArrowSchema>::release,
          owned};
}

inline ArrowArray array_node(Owned<ArrowArray> *owned, int64_t missing, int64_t n_buffers) {
  return {owned->data->n_rows,
          missing,
          0,
          n_buffers,
          static_cast<int64_t>(owned->children.size()),
          owned->buffers,
          owned->children.data(),
          nullptr,
          Owned<ArrowArray>::release,
          owned};
}

inline ArrowSchema schema_of(const Shared &data) {
  auto *batch = new Owned<ArrowSchema>{data, {}, {}, {}};
  batch->adopt(data->names.size());
  for (size_t c = 0; c < data->names.size(); ++c) {
    const char *const format = c < data->n_numbers ? "g" : "u";
    batch->nodes[c] =
        schema_node(new Owned<ArrowSchema>{data, {}, {}, {}}, format, data->names[c].c_str());
  }
  return schema_node(batch, "+s", "");
}

inline ArrowArray array_of(const Shared &data) {
  auto *batch = new Owned<ArrowArray>{data, {}, {}, {}};
  batch->adopt(data->names.size());
  for (size_t c = 0; c < data->names.size(); ++c) {
    const auto &valid = data->valid[c];
    auto *column = new Owned<ArrowArray>{data, {}, {}, {}};
    column->buffers[0] = valid.empty() ? nullptr : valid.data();
    if (c < data->n_numbers) {
      column->buffers[1] = data->number_column(c);
    } else {
      const table::WordColumn &words = data->words[c - data->n_numbers];
      column->buffers[1] = words.begins.data();
      column->buffers[2] = words.text.data();
    }
    batch->nodes[c] = array_node(column, data->missing[c], c < data->n_numbers ? 2 : 3);
  }
  return array_node(batch, 0, 1);
}

}  // namespace arrow
}  // namespace polyak
