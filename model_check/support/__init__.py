"""The parts that every package uses and that know no protocol: errors, files, processes, texts."""
