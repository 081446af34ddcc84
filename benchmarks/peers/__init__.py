"""Peers that have no command of their own, as the shortest program that does the job."""
