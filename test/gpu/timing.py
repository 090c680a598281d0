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


def poison(out):
    """Fills a tensor with what no kernel computes."""
    out.fill_(float("nan") if out.is_floating_point() else torch.iinfo(out.dtype).min)


def error(call, outs, wants):
    """Relative norm of the difference between what a call writes to each of `outs`, poisoned before, and its want: the largest; infinite where an element is not finite."""
    for out in outs:
        poison(out)
    call(0)
    torch.cuda.synchronize()
    found = [((out.to(want.dtype) - want).norm() / want.norm()).item() for out, want in zip(outs, wants) if want.numel()]
    return max(found) if all(e == e for e in found) else float("inf")
