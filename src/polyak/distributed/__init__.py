"""Learning on a cluster.

`polyak.distributed.plan` decides which rows are learned by which task and in which order;
`polyak.distributed.tasks` runs one such task: state in, state out. Neither depends on an engine.
`polyak.distributed.dask` is the engine that runs these tasks on Dask.
"""
