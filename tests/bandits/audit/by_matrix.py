"""The exact cost of one item of running sums, by linear algebra, which shares nothing with the pass over items.

Released sums are y = A x + B z: `A` says which items x are in which sum, `B` which independent Laplace draws z are.
If every sum has its own draw, B can be inverted, and B^-1 y = B^-1 A x + z reveals as much as y. One item that
moves by w moves component j by w |B^-1 A|_ji, so all releases together cost w sum_j |B^-1 A|_ji / b_j, b_j the scale
of z_j (Dwork, McSherry, Nissim and Smith 2006). That cost is attained: whenever every component lies beyond both
centers, the densities have that ratio.
"""

import numpy as np

from bandits.compiled import in_python


def privacy_losses(sums, draws, scales, widths):
    """The cost of each item, shape (items,).

    Parameters
    ----------
    sums: A, shape (releases, items).
    draws: B, shape (releases, releases).
    scales: of the Laplace draws, shape (releases,).
    widths: by how much an item may change, shape (items,).
    """
    components = np.linalg.solve(draws, sums)
    return (np.abs(components) / scales[:, None]).sum(axis=0) * widths


def draws_of(close, memory, length):
    """B of a mechanism, computed by its own code: the draws in each of its first `length` sums, shape (length, length).

    `close` is `close_node` or `close_hybrid`, called with unit vectors instead of numbers, and `memory` the number of
    earlier sums whose noise it keeps.
    """
    plain = in_python(close)
    kept = np.zeros((memory, length))
    return np.array([plain(kept, count, np.eye(length)[count - 1]) for count in range(1, length + 1)])
