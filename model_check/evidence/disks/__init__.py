"""The disks of controllers: what each file holds, what that means for the quorum, and what does not fit."""
