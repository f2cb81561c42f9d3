"""Work for a Spark cluster: exploration, campaigns, conformance vectors, logs and recorded runs."""
