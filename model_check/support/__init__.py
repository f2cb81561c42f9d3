"""What every package uses and knows no protocol: errors, files, processes, texts."""
