"""clef-serve: answers POST /v1/systemone from one model, and GET /health once that model is loaded.

The model is yours. CLEF_MODEL=module:function names a function without arguments that loads it and returns
a callable, which takes the request's JSON object and returns the answer's. The module is a .py file beside
this one or a package of requirements.txt. PORT is the port to listen on (8080).
"""

import contextlib
import importlib
import json
import os
import re
import signal
import socket
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BODY_BYTES = 8 * 1024 * 1024

# How long a client may send nothing. nginx keeps an idle connection to its upstream for 60 s by default: a gateway
# like it closes first, and never sends a request into a connection that closes at that moment.
SILENT_SECONDS = 75

# The routes and what may be asked of them.
ROUTES = {"/health": ("GET", "HEAD"), "/v1/systemone": ("POST",)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Also what is no HTTP at all is answered with a status line.
    default_request_version = "HTTP/1.1"
    timeout = SILENT_SECONDS
    model = None

    def answer(self):
        body = self.read_body()
        if body is None:
            return
        methods = ROUTES.get(self.path)
        if methods is None:
            self.refuse(404, f"no route {self.path}; there are {' and '.join(ROUTES)}")
        elif self.command not in methods:
            allowed = ", ".join(methods)
            self.refuse(405, f"{self.path} takes no {self.command} ({allowed})", {"Allow": allowed})
        elif self.path == "/health":
            self.reply(200, json.dumps({"status": "ok"}))
        else:
            self.ask_model(body)

    # The base class looks for one of these by the request's method; any other is a 501 by send_error.
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def read_body(self):
        """The request's whole body, or None once it was refused.

        Every request's body is read, or its connection closed: the rest would count as the next request.
        """
        length = ", ".join(self.headers.get_all("Content-Length", ["0"]))
        if self.headers.defects:
            # Python stops at a header that it does not understand: a length may stand behind it.
            self.send_error(400, "the headers are malformed")
        elif "Transfer-Encoding" in self.headers:
            self.send_error(411, "Transfer-Encoding is not understood; send the body with a Content-Length")
        elif not re.fullmatch("[0-9]{1,10}", length):
            self.send_error(400, f"Content-Length = {length!r}: is no length in bytes (0 to {MAX_BODY_BYTES})")
        elif int(length) > MAX_BODY_BYTES:
            self.send_error(413, f"Content-Length = {length}: is too long a body (0 to {MAX_BODY_BYTES} bytes)")
        else:
            return self.rfile.read(int(length))
        return None

    def ask_model(self, body):
        try:
            request = json.loads(body, parse_constant=refuse_constant)
            if not isinstance(request, dict):
                raise ValueError(f"it is of type {type(request).__name__}")
        except (ValueError, RecursionError) as error:
            self.refuse(400, f"the body is no JSON object: {error}")
            return
        try:
            answer = json.dumps(type(self).model(request), allow_nan=False)
        except Exception as error:  # The model is foreign code: one bad request must not end the server.
            self.log_error("the model failed: %r", error)
            self.refuse(500, f"the model failed: {type(error).__name__}")
            return
        self.reply(200, answer)

    def send_error(self, code, message=None, explain=None):
        """Refuses what cannot be read to its end. The base class calls this too, and would answer in HTML."""
        self.close_connection = True
        self.refuse(code, message or HTTPStatus(code).phrase)

    def refuse(self, status, why, headers=None):
        self.reply(status, json.dumps({"error": why}), headers)

    def reply(self, status, text, headers=None):
        payload = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def log_request(self, code="-", size="-"):
        # The kubelet's probes would be most of the log. A line that is no request has no path.
        if code != 200 or self.path != "/health":
            super().log_request(code, size)


class Server(ThreadingHTTPServer):
    # server_close() then waits for every thread, which is one for each connection.
    daemon_threads = False

    def __init__(self, port):
        self.connections = set()
        super().__init__(("0.0.0.0", port), Handler)

    def process_request(self, request, client_address):
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self.connections.discard(request)
        super().shutdown_request(request)

    def finish(self):
        """Ends once every request that has arrived is answered."""
        for connection in list(self.connections):
            # Whoever waits for a next request sees the end of the connection; answers still go out.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        self.server_close()


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def load_model():
    name = os.environ.get("CLEF_MODEL", "")

    def refuse(problem):
        sys.exit(f"CLEF_MODEL = {name!r}: {problem} (module:function); set it in clefServe.env")

    parts = re.fullmatch(r"(\w[\w.]*):(\w+)", name)
    if parts is None:
        refuse("names no model")
    module, function = parts.groups()
    try:
        load = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        # What the module itself misses is another matter, and its own trace says where.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        refuse(f"there is no module {module} beside server.py or among the packages")
    if not callable(load):
        refuse(f"module {module} has no function {function}")
    model = load()
    if not callable(model):
        refuse(f"{function} returned no callable but {type(model).__name__}")
    return model


def port_to_listen_on():
    port = os.environ.get("PORT", "8080")
    if not re.fullmatch("[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        sys.exit(f"PORT = {port!r}: is no port (1 to 65535)")
    return int(port)


def main():
    # As PID 1 it would ignore SIGTERM while the model loads.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    port = port_to_listen_on()
    # Listening only once the model is loaded keeps the pod out of the Service until it can answer.
    Handler.model = staticmethod(load_model())
    try:
        server = Server(port)
    except OSError as error:
        sys.exit(f"PORT = {port}: {error.strerror}")
    # shutdown() waits for the serving loop, which this handler interrupts: it needs a thread of its own.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()
    server.finish()


if __name__ == "__main__":
    main()
