"""Times calls on the GPU: by graphs of several launches, in turn and in a shuffled order."""

import random
import statistics

import torch

CALLS = 8


def graph_of(call):
    """A captured graph of CALLS calls; call(i) works on the i-th set of inputs."""
    for i in range(2):
        call(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(CALLS):
            call(i)
    return graph


def microseconds(graph, times):
    """What one call of a graph took, so many times."""
    out = []
    for _ in range(times):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        out.append(start.elapsed_time(end) * 1e3 / CALLS)
    return out


def rounds(graphs, count, times):
    """Median microseconds of a call of each graph, in turn and in a shuffled order each round."""
    measured = {name: [] for name in graphs}
    for _ in range(count):
        order = list(graphs)
        random.shuffle(order)
        for name in order:
            measured[name] += microseconds(graphs[name], times)
    return {name: statistics.median(values) for name, values in measured.items()}


def error(call, out, want):
    """Relative norm of the difference between what a call writes to `out`, poisoned before, and `want`; infinite where an element is not finite."""
    out.fill_(float("nan"))
    call(0)
    torch.cuda.synchronize()
    found = ((out.float() - want).norm() / want.norm()).item()
    return found if found == found else float("inf")
