"""What can go wrong: explores the reference, judges it against the properties, shows what it found."""
