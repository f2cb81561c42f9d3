"""Work for a Spark cluster: exploration, campaigns, conformance vectors and logs."""
