from pathlib import Path

import sample_pybind
import torch


def main():
    x = torch.arange(6.0).reshape(2, 3)
    total = sample_pybind.outer(1.0, 3)
    again = sample_pybind.call_back(float, total)
    Path(__file__).with_name("done.txt").write_text(f"{x.sum()} {total:.3f} {again:.3f}")


main()
