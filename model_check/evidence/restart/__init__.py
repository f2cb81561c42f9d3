"""What nodes can do that start on the disks of controllers, explored by the checker.

The checker runs the reference on what the disks have, so that nothing here says how a replica behaves. The
logs are shortened to the offsets at which anything happens (:mod:`~kraftcheck.evidence.restart.shortened`).
"""
