"""Random runs of the cluster: under Kafka's protocol and under the documents as written."""

from __future__ import annotations

import pytest

from kraftcheck.reference.protocol import KIP996
from tests.reference.cluster import Cluster, random_runs


class DocumentCluster(Cluster):
    """The same under the documents as written."""

    protocol = KIP996


TestCluster = random_runs(Cluster, 10, steps=60)
TestDocumentCluster = random_runs(DocumentCluster, 10, steps=60)
TestManyRuns = pytest.mark.slow(random_runs(Cluster, 150, steps=60))
TestManyRunsOfDocuments = pytest.mark.slow(random_runs(DocumentCluster, 60, steps=60))
