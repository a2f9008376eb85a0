#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mpi.py - sp-trace -- mpirun: each rank has its file, with all of its regions from the first statement
to the last; the launcher is no rank; scope-profiler takes the directory as one run."""
import os
import re
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (PROGRAMS, check, contains, equal, files, good, lost, main, need_root, need_scope_profiler, need_tool,
                 report, run, skip, trace)

need_root()
need_scope_profiler()
need_tool("mpirun")
if not (PROGRAMS / "ranks").exists():
    skip("the MPI program was not built: no MPI compiler")
from recording import Profile
from scope_profiler import native_trace

RANKS = 4
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_btl": "self,vader", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
MPIRUN = ["mpirun", "-n", RANKS, "--oversubscribe", PROGRAMS / "ranks"]
WANTED = {"before init": 1, "init": 1, "step": 200, "compute": 200, "reduce": 200, "after finalize": 1}


def ranks(into):
    plain = good(MPIRUN, env=ENV).stdout
    done = trace("-F", 199, "-o", into / "out", "--", *MPIRUN, env=ENV)
    equal(done.returncode, 0, f"status: {done.stderr}")
    equal(lost(done.stderr), 0, "losses")
    equal(re.findall("sum .*", done.stdout), re.findall("sum .*", plain), "results")
    pids = {int(rank): int(pid) for pid, rank in re.findall(r"pid (\d+) rank (\d+)", done.stdout)}
    equal(sorted(pids), list(range(RANKS)), "ranks that ran")
    made = files(into / "out")
    h5 = [f for f in made if f.endswith(".h5") and "rank" in f]
    equal(h5, [f"mpirun_rank{r:05}.h5" for r in range(RANKS)], "files of ranks")
    for rank in range(RANKS):
        profile = Profile(into / "out" / h5[rank])
        equal(profile.count(), WANTED | ({"only rank 0": 1} if rank == 0 else {}), f"calls of rank {rank}")
        equal(set(profile.tid.tolist()), {pids[rank]}, f"process of rank {rank}")
        equal([p for p, exe in profile.processes if exe.endswith("/ranks")], [pids[rank]], f"processes of rank {rank}")
        check(not any("mpirun" in exe or "orterun" in exe for _, exe in profile.processes),
              f"the launcher is among the processes of rank {rank}: {profile.processes}")
        equal((int(profile.metadata["mpi_rank"]), int(profile.metadata["mpi_size"])), (rank, RANKS), "rank and size")


def read_as_one(into):
    """By scope-profiler and by sp-report; the launcher's samples are in a set of their own."""
    done = trace("-F", 997, "-o", into / "out", "--", *MPIRUN, env=ENV)
    equal(done.returncode, 0, f"status: {done.stderr}")
    results = native_trace.load_traces(into / "out")
    equal(results.num_ranks, RANKS, "ranks that scope-profiler sees")
    summary = report("summary", into / "out")
    equal(summary["ranks"], RANKS, "ranks that sp-report sees")
    ours = {r["name"]: r for r in summary["regions"]}
    for name, count in WANTED.items():
        equal(results.get_region(name).num_calls, count * RANKS, f"calls of {name} for scope-profiler")
        equal((ours[name]["calls"], ours[name]["ranks"]), (count * RANKS, RANKS), f"calls and ranks of {name}")
        check(abs(results.get_region(name).total_duration - ours[name]["total_ns"] / 1e9) < 1e-8, f"total of {name}")
    equal(ours["only rank 0"]["ranks"], 1, "ranks of a region that one of them has")
    inspect = run([sys.executable, "-m", "scope_profiler", "import-native", into / "out", "-o", into / "all.h5"])
    equal(inspect.returncode, 0, f"import-native: {inspect.stderr[-400:]}")


def a_rank_fails(into):
    """mpirun's status goes through, and what the ranks did before it ended them is there."""
    done = trace("-o", into / "out", "--", "mpirun", "-n", 2, "--oversubscribe", "sh", "-c",
                 f"{PROGRAMS}/family exit 0; sleep 1; exit $OMPI_COMM_WORLD_RANK", env=ENV)
    equal(done.returncode, 1, "status")
    contains(done.stderr, "recording ended after")
    h5 = [f for f in files(into / "out") if f.endswith(".h5") and "rank" in f]
    equal(len(h5), 2, f"files of ranks: {files(into / 'out')}")
    for f in h5:
        equal(Profile(into / "out" / f).count(), {"exit": 1}, f"calls of {f}")


main(ranks, read_as_one, a_rank_fails)
