# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

"""Goal and method as in fsx_judge.py: 1,000,000 operations over 20 seeds."""

import fsx_judge

PROGRAM = fsx_judge.PROGRAM
missing = fsx_judge.missing


def judge(program, mode):
    fsx_judge.run_all(program, mode, seeds=range(1, 21),
                      operations={"small": 40000, "large": 10000})
