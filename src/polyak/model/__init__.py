"""The model: weights, feature map, intervals, evaluation and training report."""
