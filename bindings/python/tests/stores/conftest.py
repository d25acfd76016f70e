"""Two sessions in the store that is tested."""
import pytest

import holdfast


@pytest.fixture
def client(url):
    with holdfast.Client(url) as client:
        yield client


@pytest.fixture
def other(url):
    with holdfast.Client(url) as client:
        yield client
