"""The program of Holdfast's kernels and of the nursery that forks them.

Standard library only, CPython 3.8 to 3.13. Everything that runs in a kernel is imported by the nursery before it forks, so that
a file in a user's working directory can shadow none of it. The wire and the files are specified in docs/wire.md.
"""
