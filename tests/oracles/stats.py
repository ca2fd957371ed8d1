"""Resampling restated in numpy, draw for draw; Philox4x32-10 from its publication."""

from __future__ import annotations

import numpy as np

MASK = np.uint64(0xFFFFFFFF)


def philox(c0, c1, c2, c3, key):
    """Four arrays of words (as uint64) for counters given as arrays or ints."""
    c0, c1, c2, c3 = np.broadcast_arrays(*(np.asarray(c, np.uint64) for c in (c0, c1, c2, c3)))
    key0, key1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        left, right = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            (right >> np.uint64(32)) ^ c1 ^ np.uint64(key0),
            right & MASK,
            (left >> np.uint64(32)) ^ c3 ^ np.uint64(key1),
            left & MASK,
        )
        key0, key1 = (key0 + 0x9E3779B9) & 0xFFFFFFFF, (key1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def half_words(n, resample, stream, seed):
    """The first n 16-bit halves of a stream of blocks, low half of each word first."""
    words = np.stack(philox(np.arange((n + 7) // 8), resample, stream, 0, seed), axis=1).ravel()
    return np.stack([words & np.uint64(0xFFFF), words >> np.uint64(16)], axis=1).ravel()[:n]


def draws(n, resample, seed):
    """Row numbers that one resample of n rows picks."""
    u = (half_words(n, resample, 0, seed) << np.uint64(16)) | half_words(n, resample, 1, seed)
    return ((u * np.uint64(n)) >> np.uint64(32)).astype(np.int64)


def combine(part):
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


def lane_sum(values):
    part = [0.0] * 8
    for i, x in enumerate(values.tolist()):
        part[i % 8] += x
    return combine(part)


def resample_sums(deltas, resamples, seed):
    rows = np.sort(np.asarray(deltas))
    exact = rows.dtype.kind in "iu"
    picked = (rows[draws(len(rows), r, seed)] for r in range(resamples))
    return [int(x.sum(dtype=np.int64)) if exact else lane_sum(x) for x in picked]


def paired_bootstrap(deltas, resamples, seed):
    deltas = np.asarray(deltas)
    means = np.array(resample_sums(deltas, resamples, seed)) / len(deltas)
    mean = float(np.sum(deltas.astype(np.longdouble)) / len(deltas))
    low, high = np.percentile(means, [2.5, 97.5])
    below, above = float((means <= 0).mean()), float((means >= 0).mean())
    other_side = below if mean > 0 else above if mean < 0 else max(below, above)
    return mean, float(low), float(high), other_side, min(1.0, 2 * min(below, above))


def signs(n, round_, seed):
    """+1 or -1 for each of n magnitudes."""
    words = np.stack(philox(np.arange((n + 127) // 128), round_, 0, 1, seed), axis=1).ravel()
    bits = (words[:, None] >> np.arange(32, dtype=np.uint64)) & np.uint64(1)
    return np.where(bits.ravel()[:n] == 1, 1, -1)


def sign_flip(deltas, rounds, seed):
    deltas = np.asarray(deltas)
    sizes = np.sort(np.abs(deltas[deltas != 0].astype(np.int64 if deltas.dtype.kind in "iu" else float)))
    observed = abs(deltas.sum(dtype=np.int64 if deltas.dtype.kind in "iu" else float))
    slack = 0 if deltas.dtype.kind in "iu" else 1e-12 * sizes.sum()
    count = 0
    for r in range(rounds):
        flipped = sizes * signs(len(sizes), r, seed)
        total = flipped.sum() if deltas.dtype.kind in "iu" else lane_sum(flipped)
        count += abs(total) >= observed - slack
    return (count + 1) / (rounds + 1)
