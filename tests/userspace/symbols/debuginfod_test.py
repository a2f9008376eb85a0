#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Servers of debug information, and what pretends to be one."""
import http.server
import shutil
import threading
import time
import unittest

from built import WORK, Known, addresses, build, build_id, main, need, run


class Server:
    """A debuginfod server, or something that pretends to be one. @answer: (handler, id, kind)."""

    def __init__(self, answer):
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):
                _, _, known, kind = handler.path.split("/", 3)
                self.asked.append((known, kind))
                answer(handler, known, kind)

            def log_message(handler, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def send(handler, content):
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


class Debuginfod(unittest.TestCase):
    def setUp(self):
        need("objcopy")
        self.folder = WORK / self.id().rpartition(".")[2]
        shutil.rmtree(self.folder, ignore_errors=True)
        self.program = build(self.folder, "gcc")
        self.wanted = addresses(self.program)
        self.chains = Known(self.program, self.wanted).chains
        self.known = build_id(self.program)
        self.stripped = self.folder / "stripped"
        run("objcopy", "--strip-debug", self.program, self.stripped)
        debug = self.folder / "prog.debug"
        run("objcopy", "--only-keep-debug", self.program, debug)
        self.content = debug.read_bytes()
        debug.unlink()

    def look_up(self, url, *options, program=None):
        return Known(program or self.stripped, self.wanted, "--build-id", self.known, *options,
                     env={"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache"),
                          "DEBUGINFOD_VERBOSE": "", "HOME": str(self.folder)})

    def serve(self, answer):
        server = Server(answer)
        self.addCleanup(server.stop)
        return server

    def right(self, handler, known, _):
        send(handler, self.content) if known == self.known else handler.send_error(404)

    def test_found(self):
        server = self.serve(self.right)
        known = self.look_up(server.url)
        self.assertIn(": lines from", known.said)
        self.assertEqual(known.chains, self.chains)
        self.assertEqual(server.asked, [(self.known, "debuginfo")])
        # The second time it is in the cache.
        self.assertEqual(self.look_up(server.url).chains, self.chains)
        self.assertEqual(len(server.asked), 1)

    def test_program_is_gone(self):
        known = self.look_up(self.serve(self.right).url, program=self.folder / "gone")
        self.assertEqual(known.chains, self.chains)

    def test_not_asked(self):
        server = self.serve(self.right)
        self.assertIn(": names", self.look_up(server.url, "--no-debuginfod").said)
        self.assertIn(": names", self.look_up("").said)
        self.assertEqual(self.look_up(server.url, program=self.program).chains, self.chains)
        self.assertEqual(server.asked, [])

    def test_has_nothing(self):
        server = self.serve(lambda handler, *_: handler.send_error(404))
        known = self.look_up(server.url)
        self.assertIn("names: debuginfod has nothing for its build-id", known.said)
        self.assertIn("main", str(known.chains))  # of the symbol table
        asked = len(server.asked)
        self.look_up(server.url)
        self.assertEqual(len(server.asked), asked, "the miss was not remembered")

    def test_hangs(self):
        server = self.serve(lambda *_: time.sleep(30))
        before = time.monotonic()
        known = self.look_up(server.url, "--debuginfod-timeout", "1")
        self.assertLess(time.monotonic() - before, 10)
        self.assertIn("debuginfod did not answer in time", known.said)
        # That is no answer: it is asked again.
        server = self.serve(self.right)
        self.assertEqual(self.look_up(server.url).chains, self.chains)
        self.assertEqual(len(server.asked), 1)

    def test_gone(self):
        server = Server(self.right)
        server.stop()
        before = time.monotonic()
        known = self.look_up(server.url)
        self.assertLess(time.monotonic() - before, 15)
        self.assertIn("names: debuginfod", known.said)

    def test_garbage(self):
        server = self.serve(lambda handler, *_: send(handler, b"\x7fELF" + bytes(range(256)) * 50))
        known = self.look_up(server.url)
        self.assertIn("names: ", known.said)
        self.assertNotIn("lines from", known.said)

    def test_another_build(self):
        """A file that has another build-id than was asked for is not used."""
        other = build(self.folder / "other", "gcc", "-DOTHER", "-O1").read_bytes()
        known = self.look_up(self.serve(lambda handler, *_: send(handler, other)).url)
        self.assertIn("names: ", known.said)
        self.assertIn("its build-id is", known.said)


main()
