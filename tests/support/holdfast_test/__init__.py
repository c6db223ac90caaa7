"""What the end-to-end tests stand on: a real daemon in a home of its own, a line client, processes named by identity.

Standard library only. Nothing here sleeps to let something happen: every wait names its condition and its deadline.
"""
