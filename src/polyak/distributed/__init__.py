"""Past one machine: engines that run the learner on a cluster.

`polyak.distributed.plan` says which rows are learned by whom and in which order, and
`polyak.distributed.tasks` does one such task: state in, state out. Neither knows any engine. An
engine is one module that has these tasks done: `polyak.distributed.dask.estimators` is the first.
"""
