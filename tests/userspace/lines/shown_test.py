# SPDX-License-Identifier: BSD-2-Clause
"""Tests what `sp-report lines` takes, and how it shows what it found: HDF5 files, tables, JSON and CSV, modules
that are none, messages.

Usage: shown_test.py SP_REPORT MAKE_PROFILE SYMBOLS_TEST SOURCES WORK
"""

import csv
import io
import os
import re
import shutil

import sps
from built import (BASE, Built, Program, SOURCES, SP_REPORT, SYMBOLS_TEST, counts, lines, lines_json, main,
                   path, run, there)


class Shown(Built):
    # ---- HDF5 ----

    def test_hdf5(self):
        program = self.by_name["c_pie"]
        at = BASE + program.functions["scale"][0]
        self.profile("h.h5", ["region a", "region b", "hz 499",
                              f"module {program.path} {program.build_id()} {BASE:x}"] +
                     [f"sample 0 0 {at:x} 0 0"] * 4 + [f"sample 1 0 {at:x} 1 1"] * 6 +
                     [f"sample -1 0 {at:x} 0 0"] * 20 + ["sample 0 -1 0 1 0"] +
                     ["loss 12 sample ring full", "loss 3 call ring full"])
        answer = lines_json(path("h.h5"))
        self.assertEqual([(r["region"], r["samples"]) for r in answer["regions"]],
                         [("b", 6), ("a", 5), (None, 20)])
        self.assertEqual((answer["samples"], answer["samples_in_kernel"], answer["hz"]),
                         (31, 7, 499))
        text = lines(path("h.h5")).stdout
        self.assertIn("12 lost: sample ring full", text)
        self.assertIn("3 lost: call ring full", text)
        self.assertLess(text.index("12 lost"), text.index("samples at 499 Hz"))
        self.assertIn("(no region)  20 samples", text)
        self.assertEqual(lines_json("--rank", "1", path("h.h5"))["samples"], 6)
        self.profile("quiet.h5", ["region a", "region quiet", f"module {program.path} "
                                  f"{program.build_id()} {BASE:x}", f"sample 0 0 {at:x} 0 0"])
        said = lines("-r", "quiet", path("quiet.h5"), status=1).stderr
        self.assertIn('no sample fell into region "quiet" itself', said)
        self.assertIn("sp-report summary", said)
        self.assertNotIn("did you mean", said)
        self.profile("one.h5", ["region a", "sample -1 -1 0 0 0"])
        self.assertIn("(no region)  1 sample, 100.0 % of all", lines(path("one.h5")).stdout)
        only = lines_json("--region", "(no region)", path("h.h5"))["regions"]
        self.assertEqual([r["samples"] for r in only], [20])

    def test_directory_prefers_hdf5(self):
        program = self.by_name["c_pie"]
        at = BASE + program.functions["scale"][0]
        os.makedirs(path("d.sp"))
        module = f"module {program.path} {program.build_id()} {BASE:x}"
        self.profile("d.sp/p_rank00000.h5", ["region a", module] + [f"sample 0 0 {at:x} 0 0"] * 7)
        self.profile("d.sp/p_rank00001.h5", ["region a"])  # no samples: its .sps is taken
        for rank, n in (0, 100), (1, 30):
            sps.write(path(f"d.sp/p_rank{rank:05}.sps"), ["a"], [(program.path, BASE)],
                      [(0, 0, at)] * n, rank=rank)
        self.assertEqual(lines_json(path("d.sp"))["samples"], 37)

    def test_rebuilt_program_is_refused(self):
        program = Program("rebuilt", "gcc", "hot.c", "-O2", "-g")
        at = BASE + program.functions["scale"][0]
        self.profile("rebuilt.h5", ["region a", f"module {program.path} {program.build_id()} "
                                    f"{BASE:x}", f"sample 0 0 {at:x} 0 0"])
        self.assertEqual(lines_json(path("rebuilt.h5"))["regions"][0]["lines"][0]["function"],
                         "scale")
        Program("rebuilt", "gcc", "hot.c", "-O3", "-g")
        answer = lines_json(path("rebuilt.h5"))
        row, = answer["regions"][0]["lines"]
        self.assertEqual((row["function"], row["file"], row["line"]), ("??", "??", 0))
        self.assertEqual(answer["modules"][0]["symbols"], "changed")
        self.assertIn("not the build that was recorded", lines(path("rebuilt.h5")).stdout)
        # A path is told of once, with the samples of all that was recorded under it.
        self.profile("rebuilt.h5", ["region a"] + [f"module {program.path} {n:040x} {BASE:x}" for n in (1, 2, 3)] +
                     [f"sample 0 {n % 3} {at:x} 0 0" for n in range(12)])
        text = lines(path("rebuilt.h5")).stdout
        self.assertEqual(text.count("is not the build that was recorded"), 1, text)
        self.assertIn("its samples (100.0 %) have no lines", text)
        os.unlink(program.path)
        self.assertEqual(lines(path("rebuilt.h5")).stdout.count("cannot be read"), 1)
        self.assertEqual(lines("--csv", path("rebuilt.h5")).stderr.count("cannot be read"), 1)

    # ---- what people see ----

    def test_views_agree(self):
        self.write("views.sps", self.programs[:3], ticks=10000)
        answer = lines_json(path("views.sps"))
        rows = list(csv.DictReader(io.StringIO(lines("--csv", path("views.sps")).stdout)))
        self.assertEqual([(r["region"], r["file"], int(r["line"]), r["function"],
                           int(r["samples"]), r["source"]) for r in rows],
                         [(g["region"], r["file"], r["line"], r["function"], r["samples"],
                           r.get("source", "")) for g in answer["regions"] for r in g["lines"]])
        text = lines("--top", "3", path("views.sps")).stdout
        self.assertIn("1,000 more samples fell outside of every region", text)
        for region in answer["regions"]:
            top = region["lines"][0]
            share = f"{100 * top['samples'] / region['samples']:.1f} %"
            where = f"{os.path.basename(top['file'])}:{top['line']}"
            self.assertRegex(text, rf"(?m)^\s+{top['samples']:,}\s+{share}\s+{re.escape(where)} ")
        self.assertEqual(text.count("more lines (--top 0"), 3)
        self.assertNotIn("\033", text)

    def test_rows_that_look_alike(self):
        """In the table instances of a template are one row, and so are the probes; JSON has all."""
        program = Program("fold", "g++", "fold.cpp", "-O2", "-g")
        solve = sorted(at for name, (at, _) in program.functions.items() if "solve" in name)
        gate, place = (program.functions[n][0] for n in ("sp_gate_v1", "sp_begin_stub_v1_place"))
        samples = [(solve[0], 10), (solve[1], 20), (gate, 3), (place, 4)]
        sps.write(path("fold.sps"), ["r"], [(program.path, program.bias)],
                  [(0, 0, program.bias + at) for at, n in samples for _ in range(n)])
        region, = lines_json(path("fold.sps"))["regions"]
        self.assertEqual([row["samples"] for row in region["lines"]], [20, 10, 4, 3])
        self.assertEqual(len({row["function"] for row in region["lines"]}), 4)
        text = lines("--no-source", path("fold.sps")).stdout
        table = [line.split(None, 4) for line in text.splitlines() if " % " in line][1:]
        self.assertEqual([(row[0], row[1], row[4]) for row in table],
                         [("30", "81.1", table[0][4]), ("7", "18.9", "(probes of sp-trace)")])
        self.assertRegex(table[0][3], r"fold\.cpp:\d+")
        self.assertEqual(table[1][3], "-")
        self.assertTrue(table[0][4].startswith("some_rather_long_name_of_a_library::"))
        # Folded before the hottest are chosen, so what is left out is counted in such rows, too.
        self.assertIn("and 7 in 1 more line (", lines("--top", "1", path("fold.sps")).stdout)

    def test_source_text(self):
        source = path("edited.c")
        shutil.copy(os.path.join(SOURCES, "hot.c"), source)
        shutil.copy(os.path.join(SOURCES, "inner.h"), path("inner.h"))
        program = Program("edited", "gcc", source, "-O0", "-g")
        start, size = program.functions["scale"]
        sps.write(path("edited.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + a) for a in program.addresses if start <= a < start + size])
        self.assertIn("x = x * 1.0000001 + 1e-9;", lines(path("edited.sps")).stdout)
        self.assertNotIn("1.0000001", lines("--no-source", path("edited.sps")).stdout)
        later = os.stat(program.path).st_mtime + 10
        os.utime(source, (later, later))
        text = lines(path("edited.sps")).stdout
        self.assertIn("edited.c was changed after the program was built", text)
        self.assertNotIn("1.0000001", text)

    def test_binary_newer_than_recording(self):
        program = self.by_name["c_pie"]
        sps.write(path("old.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + program.addresses[0])])
        self.assertNotIn("may be wrong", lines(path("old.sps")).stdout)
        os.utime(path("old.sps"), (1e9, 1e9))
        self.assertIn("may be wrong", lines(path("old.sps")).stdout)

    def test_hostile_names(self):
        name = "a\033]0;x\007\u202e\n,\"b"
        program = self.by_name["c_pie"]
        sps.write(path("names.sps"), [name, "=1"], [(path("no\033[31mmodule"), 0)],
                  [(0, 0, 5), (1, 0, 6)])
        text = lines(path("names.sps")).stdout
        for bad in "\033\007\u202e":
            self.assertNotIn(bad, text)
        regions = {r["region"] for r in lines_json(path("names.sps"))["regions"]}
        self.assertEqual(regions, {name, "=1"})
        rows = list(csv.DictReader(io.StringIO(lines("--csv", path("names.sps")).stdout)))
        # A spreadsheet is not to take it for a formula, nor a terminal for a command.
        self.assertEqual({r["region"] for r in rows}, {'a\\x1b]0;x\\x07\\u202e\n,"b', "'=1"})

    def test_modules_that_are_no_programs(self):
        os.mkfifo(path("fifo"))
        os.symlink("loop", path("loop"))
        open(path("empty"), "w").close()
        with open(path("text"), "w") as file:
            file.write("not ELF " * 100)
        modules = ["fifo", "loop", "empty", "text", ".", "nowhere"]
        sps.write(path("odd.sps"), ["r"], [(path(m), 0) for m in modules],
                  [(0, i, 0x1000) for i in range(len(modules))])
        answer = lines_json(path("odd.sps"))
        self.assertEqual(counts(answer["regions"]), {"r": {("??", 0): 6}})
        self.assertEqual([m["symbols"] for m in answer["modules"]],
                         ["damaged", "missing", "damaged", "damaged", "damaged", "missing"])
        self.assertTrue(all(m["reason"] for m in answer["modules"]))

    def test_module_that_hangs_or_crashes(self):
        """A debug file that is a FIFO blocks its reader: only that module's answers are missing."""
        program = Program("stuck", "gcc", "hot.c", "-O2", "-g")
        run("objcopy", "--only-keep-debug", program.path, program.path + ".debug")
        run("strip", program.path)
        run("objcopy", "--remove-section=.note.gnu.build-id",
            "--add-gnu-debuglink=" + program.path + ".debug", program.path)
        os.unlink(program.path + ".debug")
        os.mkfifo(program.path + ".debug")
        run(SYMBOLS_TEST, "stuck", program.path, self.by_name["c_pie"].path)

    def test_no_network(self):
        """Nothing asks a debuginfod server, whatever the environment says."""
        program = self.by_name["c_pie"]
        sps.write(path("net.sps"), ["r"], [(self.stripped.path, BASE), (program.path, BASE)],
                  [(0, 0, BASE + 0x1100), (0, 1, BASE + program.addresses[0])])
        if not there("strace"):
            self.skipTest("no strace")
        done = run("strace", "-f", "-e", "trace=socket,connect", SP_REPORT, "lines",
                   path("net.sps"), env={"DEBUGINFOD_URLS": "http://127.0.0.1:9",
                        "ASAN_OPTIONS": "detect_leaks=0"})
        self.assertNotIn("AF_INET", done.stderr)  # nscd, on the machine, may be asked for groups

    def test_messages(self):
        program = self.by_name["c_pie"]
        sps.write(path("m.sps"), ["solve"], [(program.path, BASE)],
                  [(0, 0, BASE + program.addresses[0])])
        sps.write(path("none.sps"), ["solve"], [], [], ticks=55)
        with open(path("m.sps"), "rb") as file:
            whole = file.read()
        with open(path("cut.sps"), "wb") as file:
            file.write(whole[:-3])
        os.makedirs(path("nothing"))
        for arguments, status, words in [
            ([], 2, "name the recording"),
            ([path("absent.sps")], 1, "absent.sps: No such file"),
            ([path("nothing")], 1, "nothing: no .sps file"),
            ([path("cut.sps")], 1, "cut.sps: "),
            ([path("none.sps")], 1, "none of the 55 samples is in a region"),
            ([os.path.join(SOURCES, "hot.c")], 1, "hot.c: "),
            (["--region", "slove", path("m.sps")], 1, 'did you mean "solve"?'),
            (["--top", "ten", path("m.sps")], 2, "--top"),
            (["--rank", "3-1", path("m.sps")], 2, "--rank"),
            (["--rank", "", path("m.sps")], 2, "--rank"),
            (["--json", "--csv", path("m.sps")], 2, "exclude each other"),
            (["--frobnicate"], 2, "frobnicate"),
        ]:
            with self.subTest(arguments=arguments):
                done = lines(*arguments, status=status)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertIn("sp-report lines", lines("--help").stdout)


if __name__ == "__main__":
    main()
