# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Models for the clients that save tensors."""

import torch

MODEL_BYTES = 256 << 20


def make_model(seed=1, size_bytes=MODEL_BYTES):
    """Tensors of the sizes that real models mix, bf16 and fp32, each with other bytes."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(-2**15, 2**15, (24 << 20,), dtype=torch.int16, generator=generator)
    elements = (16 << 20, 1, 65537, 4096, 7, 3 << 20, 1 << 20, 64)
    model, total = {}, 0
    while total < size_bytes:
        index = len(model)
        wanted = min(elements[index % len(elements)], (size_bytes - total + 1) // 2)
        start = index * 7919 * 2 % (len(source) - 2 * wanted)
        if index % 3 == 1:  # fp32: two of the words each
            tensor = source[start:start + 2 * wanted].clone().view(torch.float32)
        else:
            tensor = source[start:start + wanted].clone().view(torch.bfloat16)
        model[f"layers.{index}.weight"] = tensor
        total += tensor.numel() * tensor.element_size()
    return model


def bits(tensor):
    """As integers: random floats may be NaN, which equal nothing."""
    return tensor.contiguous().view(torch.int16)


def assert_same_model(test, expected, actual):
    test.assertEqual(sorted(expected), sorted(actual))
    for name, tensor in expected.items():
        test.assertEqual(tensor.dtype, actual[name].dtype, name)
        test.assertTrue(torch.equal(bits(tensor), bits(actual[name])), f"{name} differs")
