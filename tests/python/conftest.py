import json
import os
import struct
import subprocess

import numpy as np
import pytest


@pytest.fixture(scope="session")
def program():
    """The command line, to compare with."""
    path = os.environ.get("SELFNORM_PROGRAM")
    if not path or not os.path.exists(path):
        pytest.skip("SELFNORM_PROGRAM does not name the program")

    def run(*words, check=True):
        done = subprocess.run([path, *map(str, words)], capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def clouds():
    """Three clouds in the plane, and a column that says nothing."""
    random = np.random.default_rng(0)
    y = np.arange(600) % 3
    angle = 2 * np.pi / 3 * y
    X = np.c_[np.cos(angle), np.sin(angle), np.zeros(600)] + 0.5 * random.normal(size=(600, 3))
    return X.astype(np.float32), y


_TYPES = {"F64": (np.float64, 8), "F32": (np.float32, 4), "F16": (np.float16, 2), "BF16": (None, 2), "F8_E4M3": (None, 1)}


def write_safetensors(path, tensors, metadata=None):
    """tensors: name -> (dtype, array of float32); bfloat16 by rounding to the nearest."""
    header, blocks, at = ({"__metadata__": metadata} if metadata else {}), [], 0
    for name, (kind, values) in tensors.items():
        values = np.ascontiguousarray(values, dtype=np.float32)
        if kind == "BF16":
            bits = values.view(np.uint32).astype(np.uint64)
            block = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).tobytes()
        elif kind == "F8_E4M3":
            block = bytes(values.size)
        else:
            block = values.astype(_TYPES[kind][0]).tobytes()
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": [at, at + len(block)]}
        at += len(block)
        blocks.append(block)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def read_safetensors(path):
    """(name -> array of float32, metadata)"""
    with open(path, "rb") as file:
        bytes_ = file.read()
    size, = struct.unpack("<Q", bytes_[:8])
    header, out = json.loads(bytes_[8:8 + size]), {}
    metadata = header.pop("__metadata__", {})
    for name, entry in header.items():
        begin, end = (8 + size + place for place in entry["data_offsets"])
        raw = bytes_[begin:end]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, _TYPES[entry["dtype"]][0]).astype(np.float32)
        out[name] = values.reshape(entry["shape"])
    return out, metadata
