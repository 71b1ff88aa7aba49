"""Headless Chromium, driven over the pipe of its DevTools protocol; needs no package."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 300  # seconds that Chromium may be silent: axe takes a tenth of it on the largest page
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

# Chromium reads commands from descriptor 3 and answers on 4. Copies first, as ours may have these numbers.
LAUNCHER = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for pipe, place in zip(pipes, (3, 4)):
    os.dup2(pipe, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A context that opens one page after another, and keeps their requests and complaints.

    Attributes
    ----------
    requests: addresses asked for since the last `open`.
    complaints: console errors, warnings and uncaught exceptions since then.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._number = 0
        self._session: str | None = None
        self._loaded = False
        self._address = "about:blank"

    def __enter__(self) -> "Browser":
        assert CHROMIUM is not None
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        theirs, write = os.pipe()
        read, answers = os.pipe()
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(theirs), str(answers), *command],
            pass_fds=(theirs, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(answers)
        self._write, self._read = os.fdopen(write, "wb", buffering=0), os.fdopen(read, "rb")
        self._buffer = b""
        page = next(target for target in self._call("Target.getTargets")["targetInfos"] if target["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Inspector"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write.close()  # Chromium ends with its pipe
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._read.close()
        self._profile.cleanup()

    def open(self, file: Path, width: int, dark: bool = False, script: bool = True) -> None:
        """Load a file in a window of this width and wait until it is complete."""
        self.visit(file.resolve().as_uri(), width, dark, script)

    def visit(self, address: str, width: int, dark: bool = False, script: bool = True) -> None:
        """Load an address in a window of this width and wait until it is complete."""
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", features=theme)
        self._call("Emulation.setScriptExecutionDisabled", value=not script)
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.requests.clear()
        self.complaints.clear()
        self._loaded = False
        self._address = address
        self._call("Page.navigate", url=address)
        while not self._loaded:
            self._listen()

    def reload(self) -> None:
        """Load the page again, at its present address."""
        self._loaded = False
        self._call("Page.reload")
        while not self._loaded:
            self._listen()

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, shift: bool = False) -> None:
        """Press a key that types nothing: Tab, Enter, or, on a button, a space."""
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        text = {"text": {"Enter": "\r"}.get(key, key)} if key != "Tab" else {}
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key.replace(" ", "Space"),
                windowsVirtualKeyCode=codes[key],
                modifiers=8 if shift else 0,
                **text,
            )

    def press_until_loaded(self, key: str) -> None:
        """Press a key that leads to another page, and wait until that is complete."""
        self._loaded = False
        self.press(key)
        while not self._loaded:
            self._listen()

    def type(self, text: str) -> None:
        """Type a text where the focus is, sign by sign."""
        for sign in text:
            for kind in ("keyDown", "keyUp"):
                self._call(
                    "Input.dispatchKeyEvent", type=kind, key=sign, **({"text": sign} if kind == "keyDown" else {})
                )

    def edit(self, command: str) -> None:
        """A command of the editor, such as undo or selectAll, where the focus is."""
        for kind in ("rawKeyDown", "keyUp"):
            commands = {"commands": [command]} if kind == "rawKeyDown" else {}
            self._call("Input.dispatchKeyEvent", type=kind, key="F24", **commands)

    def paste(self, text: str) -> None:
        """Put a text in place of the selection, at once."""
        self._call("Input.insertText", text=text)

    def click(self, x: float, y: float, times: int = 1) -> None:
        """Press the mouse at a place in the window, `times` in a row: twice selects a word, three times a line."""
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def media(self, name: str) -> None:
        """Show the page as on screen, or as in print."""
        self._call("Emulation.setEmulatedMedia", media=name)

    def point(self, x: float, y: float) -> None:
        """Move the mouse to a place in the window."""
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._listen()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer.get("result", {})

    def _listen(self) -> dict[str, Any]:
        """The next message; events are kept."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, f"{self._address}: Chromium was silent for {PATIENCE} s"
            read = os.read(self._read.fileno(), 1 << 16)
            assert read, f"{self._address}: Chromium has ended"
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._keep(message.get("method"), message.get("params", {}))
        return message

    def _keep(self, event: str | None, told: dict[str, Any]) -> None:
        assert event != "Inspector.targetCrashed", f"{self._address}: the page has crashed"
        if event == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(told["args"]))
        elif event == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"])
