"""The exit codes of every command.

0: all is as expected. 1: a verdict, a comparison or a check differs from what was expected. 2: bad input, or
a file or stream that cannot be read or written. 3: undetermined, since a limit was reached, memory ran out, a
process was killed or the run was interrupted. 70: an internal error (EX_SOFTWARE of sysexits.h). 141: the
reader closed the pipe early, as shells report SIGPIPE.
"""

EXIT_EXPECTED = 0
EXIT_DIFFERS = 1
EXIT_BAD_INPUT = 2
EXIT_UNDETERMINED = 3
EXIT_INTERNAL = 70
EXIT_BROKEN_PIPE = 141
