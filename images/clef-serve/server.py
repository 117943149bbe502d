"""clef-serve: answers POST /v1/systemone from one model, and GET /health once that model is loaded.

The model is yours. CLEF_MODEL=module:function names a function without arguments that loads it and returns
a callable, which takes the request's JSON object and returns the answer's. The module is a .py file beside
this one or a package of requirements.txt. PORT is the port to listen on (8080).
"""

import importlib
import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BODY_BYTES = 8 * 1024 * 1024


def load_model():
    name = os.environ.get("CLEF_MODEL", "")
    module, _, function = name.partition(":")
    if not module or not function:
        sys.exit(f"CLEF_MODEL = {name!r}: names no model (module:function); set it in clefServe.env")
    return getattr(importlib.import_module(module), function)()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def do_GET(self):
        if self.path == "/health":
            self.reply(200, {"status": "ok"})
        else:
            self.reply(404, {"error": f"no route {self.path}; there are /health and /v1/systemone"})

    def do_POST(self):
        if self.path != "/v1/systemone":
            self.reply(404, {"error": f"no route {self.path}; there are /health and /v1/systemone"})
            return
        try:
            request = self.read_json()
        except ValueError as error:
            # The rest of the body is unread, so the connection cannot be reused.
            self.close_connection = True
            self.reply(400, {"error": str(error)})
            return
        try:
            answer = type(self).model(request)
        except Exception as error:  # The model is foreign code: one bad request must not end the server.
            self.log_error("model failed: %r", error)
            self.reply(500, {"error": f"the model failed: {type(error).__name__}"})
            return
        self.reply(200, answer)

    def read_json(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            raise ValueError(f"Content-Length = {length!r}: a number up to {MAX_BODY_BYTES} is needed")
        body = json.loads(self.rfile.read(int(length)))
        if not isinstance(body, dict):
            raise ValueError("the body is not a JSON object")
        return body

    def reply(self, status, body):
        payload = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_request(self, code="-", size="-"):
        # The kubelet's probes would be most of the log.
        if self.path != "/health":
            super().log_request(code, size)


def main():
    # Listening only once the model is loaded keeps the pod out of the Service until it can answer.
    Handler.model = staticmethod(load_model())
    server = ThreadingHTTPServer(("0.0.0.0", int(os.environ.get("PORT", "8080"))), Handler)
    # shutdown() waits for the serving loop, which this handler interrupts: it needs a thread of its own.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()


if __name__ == "__main__":
    main()
