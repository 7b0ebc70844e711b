"""What the demo shows, scene by scene; each waits for conditions, and checks what it shows."""

from __future__ import annotations

import json
from typing import Any

from moorage.api import crd_documents
from tests.controlplane import KubectlError, wait_for
from tests.controlplane.waiting import BUSY_FACTOR
from tests.demo.places import CRDS, POLICIES, Place
from tests.demo.terminal import Terminal

OBJECTS = "tests/demo/objects"
WAIT = "--timeout=30s"
"""What readers see, who have no busy machine."""
SECONDS = 30.0
PATIENCE_SECONDS = SECONDS * BUSY_FACTOR
SIZE = ("replicas", "active", "standby")


class SurpriseError(AssertionError):
    """The cluster does not show what it should."""


class Story:
    """Two teams share a cluster."""

    def __init__(self, place: Place, terminal: Terminal) -> None:
        self.place = place
        self.terminal = terminal
        self.a, self.b = f"{place.prefix}team-a", f"{place.prefix}team-b"

    def play(self) -> None:
        """Show everything."""
        self.set_up()
        self.workloads()
        self.apply_quotas_and_buffers()
        self.describe()
        self.change_the_load()
        self.lower_a_quota()
        self.change_the_rate()
        self.agree_with_the_command_line()
        self.move_the_floor()

    def set_up(self) -> None:
        """The definitions and the operator."""
        terminal, cluster = self.terminal, self.place.cluster
        terminal.say(self.place.about)
        if self.place.has_definitions:
            terminal.say("The definitions of Moorage are there already and are left as they are.")
        else:
            terminal.say("Moorage brings two kinds of objects. Their definitions come first.")
            definitions = "---\n".join(crd_documents().values())
            terminal.kubectl("apply", "--server-side", "-f", "-", stdin=definitions, piped="moorage crds | ")
            # kubectl fails on a definition that is so new that it has no conditions at all.
            wait_for(
                lambda: cluster.kubectl("wait", "--for=condition=Established", WAIT, *(f"crd/{name}" for name in CRDS)),
                timeout=SECONDS,
                ignore=KubectlError,
                message="the definitions to be established",
            )
            terminal.say("Admission policies make the API server itself refuse what breaks a quota.")
            terminal.kubectl("apply", "--server-side", "-k", POLICIES)

        terminal.say("Two teams get a namespace each.")
        self.place.namespaces += [self.a, self.b]
        for namespace in self.place.namespaces:
            terminal.kubectl("create", "namespace", namespace)
            cluster.wait_for_service_account(namespace)

        flags = "" if self.place.alone else f" -n {self.a} -n {self.b}"
        terminal.say("The operator is one process; here it runs beside the cluster, not in it.")
        terminal.typed(f"moorage run{flags} &")
        self.place.run_operator()
        print(self.place.operator_log.read_text(encoding="utf-8"), end="")

    def workloads(self) -> None:
        """What the teams run."""
        self.terminal.say(
            "Team A runs web servers with a sidecar. Team B runs a service, and a job that ends by itself."
        )
        self.terminal.kubectl("apply", "-n", self.a, "-f", f"{OBJECTS}/web.yaml")
        self.terminal.kubectl("apply", "-n", self.b, "-f", f"{OBJECTS}/batch.yaml")

    def apply_quotas_and_buffers(self) -> None:
        """The main job."""
        terminal = self.terminal
        terminal.say(
            "How much may each team use, and how much capacity must stand ready for its next burst? "
            "Each team gets a NamespaceQuota (nsq) and a CapacityBuffer (cbuf)."
        )
        terminal.kubectl("apply", "-n", self.a, "-f", f"{OBJECTS}/team-a.yaml")
        terminal.kubectl("apply", "-n", self.b, "-f", f"{OBJECTS}/team-b.yaml")

        terminal.say(
            "Usage is counted from the pods. The job's six pods have finished: they count in count/pods alone. The "
            "three units of team B's buffer count as if they ran; team A's quota leaves buffers out."
        )
        self.wait_for_usage(self.a, "team-a", {"pods": "8", "requests.cpu": "2"})
        self.wait_for_usage(self.b, "team-b", {"pods": "7", "requests.cpu": "3500m", "count/pods": "13"})
        if not self.place.has_definitions:
            self.wait_patiently(self.a, "nsq/team-a", "condition=Enforced")
            self.wait_patiently(self.b, "nsq/team-b", "condition=Enforced")
        self.wait(self.a, "cbuf/web", "{.status.replicas}", "180")
        self.wait(self.b, "cbuf/api", "{.status.replicas}", "3")
        if self.place.alone:
            self.wait(self.a, "cbuf/web", "{.status.display.active}", "60/60")
            self.wait(self.b, "cbuf/api", "{.status.display.active}", "3/3")
            terminal.kubectl("get", "nsq,cbuf", "-A")
        else:
            terminal.kubectl("get", "nsq,cbuf", "-n", self.a)
            terminal.kubectl("get", "nsq,cbuf", "-n", self.b)

    def describe(self) -> None:
        """Both kinds in full."""
        self.terminal.say("What a quota says of itself; Summary is meant to be read first.")
        self.terminal.kubectl("describe", "nsq", "team-a", "-n", self.a)
        self.terminal.say(
            "Two pods a second, 30 s until a suspended node takes pods and 90 s until a new one does: "
            "60 units are to be active and 120 on standby. Explanation says how each number came about, Provisioned "
            "what of it is there: the nodes have room for the active ones, and suspended nodes this cluster has none."
        )
        self.terminal.kubectl("describe", "cbuf", "web", "-n", self.a)

    def change_the_load(self) -> None:
        """A quota comes near its limit."""
        terminal = self.terminal
        terminal.say("The load changes: team A scales from 8 to 18 pods, 4.5 of its 5 cores. Status follows at once.")
        terminal.kubectl("scale", "-n", self.a, "deployment/web", "--replicas=18")
        self.wait_for_usage(self.a, "team-a", {"pods": "18", "requests.cpu": "4500m"}, shown=True)
        near = {
            "Ready": "True",
            "NearLimit": "True",
            "Exceeded": "False",
            "Enforced": "True",
            "WorkloadsRefused": "False",
        }
        self.wait_for_conditions(self.a, "nsq/team-a", near)
        terminal.kubectl("get", "nsq", "team-a", "-n", self.a)
        self.conditions(self.a, "nsq/team-a", expected=near)

    def lower_a_quota(self) -> None:
        """A quota is lowered below what is used."""
        terminal = self.terminal
        terminal.say(
            "Team B's quota is lowered below what it uses. Nothing is evicted; the conditions say so, and whose next "
            "pod would be refused. Its buffer gives way at once."
        )
        patch = json.dumps({"spec": {"hard": {"requests.cpu": "1600m"}}})
        terminal.kubectl("patch", "nsq", "team-b", "-n", self.b, "--type=merge", "-p", patch)
        self.wait_patiently(self.b, "nsq/team-b", "condition=Exceeded")
        terminal.kubectl("wait", "-n", self.b, "--for=condition=Exceeded", "nsq/team-b", WAIT)
        self.wait_for_usage(self.b, "team-b", {"requests.cpu": "2"})
        exceeded = {
            "Ready": "True",
            "NearLimit": "True",
            "Exceeded": "True",
            "Enforced": "True",
            "WorkloadsRefused": "True",
        }
        self.wait_for_conditions(self.b, "nsq/team-b", exceeded)
        terminal.kubectl("get", "nsq", "team-b", "-n", self.b)
        self.conditions(self.b, "nsq/team-b", expected=exceeded)

    def change_the_rate(self) -> None:
        """A buffer's input changes."""
        terminal = self.terminal
        terminal.say("Bursts turn out to be slower: one pod every two seconds. Fractions are quoted.")
        patch = json.dumps({"spec": {"sizing": {"scaleUpRate": "0.5"}}})
        terminal.kubectl("patch", "cbuf", "web", "-n", self.a, "--type=merge", "-p", patch)
        self.wait(self.a, "cbuf/web", "{.status.sizing.scaleUpRate}", "0.5")
        if self.place.alone:
            self.wait(self.a, "cbuf/web", "{.status.display.active}", "15/15")
        terminal.kubectl("get", "cbuf", "web", "-n", self.a)
        text = self.explanation()
        self.expect(text.startswith("active 15 = 0.5 pods/s x 30s; standby 30 ="), f"the explanation is {text!r}")

    def agree_with_the_command_line(self) -> None:
        """The command line uses the same functions."""
        terminal = self.terminal
        terminal.say("The same sizes before anything is applied, from the command line ...")
        answer = json.loads(terminal.moorage("size", "--rate", "0.5", "--resume", "30s", "--cold", "90s", "-o", "json"))
        status = self.status(self.a, "cbuf/web")
        found = [status["replicas"], status["active"]["replicas"], status["standby"]["replicas"]]
        self.expect([answer[name] for name in SIZE] == found, f"status of cbuf/web has {found}")
        terminal.say("... and the same usage, counted anew from a list of the pods.")
        told = terminal.moorage("usage", "-n", self.a)
        summary = self.status(self.a, "nsq/team-a")["summary"]
        lines = [line.strip() for line in told.splitlines()[1 : len(summary) + 1]]
        self.expect(lines == summary, f"status of nsq/team-a has {summary}")
        terminal.say("Both agree with status.")

    def move_the_floor(self) -> None:
        """/scale writes spec.replicas."""
        terminal = self.terminal
        terminal.say("kubectl scale and autoscalers move the floor; the size follows when the floor is the larger.")
        terminal.kubectl("scale", "cbuf", "web", "-n", self.a, "--replicas=60")
        self.wait(self.a, "cbuf/web", "{.status.replicas}", "60")
        text = self.explanation()
        self.expect("floor 60 decides" in text, f"the explanation is {text!r}")

    # Waiting and checking

    def wait_for_usage(self, namespace: str, name: str, used: dict[str, str], *, shown: bool = False) -> None:
        """Wait until a quota shows this usage; `shown`: with a command that the reader sees."""
        for resource, amount in used.items():
            path = f"{{.status.used.{resource.replace('.', chr(92) + '.')}}}"
            self.wait(namespace, f"nsq/{name}", path, amount, shown=shown)
            shown = False

    def wait(self, namespace: str, resource: str, path: str, value: str, *, shown: bool = False) -> None:
        """Wait until a field has a value."""
        self.wait_patiently(namespace, resource, f"jsonpath={path}={value}")
        if shown:
            self.terminal.kubectl("wait", "-n", namespace, f"--for=jsonpath={path}={value}", resource, WAIT)

    def wait_for_conditions(self, namespace: str, resource: str, expected: dict[str, str]) -> None:
        """Wait until an object has these conditions, and has them for its spec as it is now: kubectl sees to that."""
        for name, value in expected.items():
            if name != "Enforced" or not self.place.has_definitions:
                self.wait_patiently(namespace, resource, f"condition={name}={value}")

    def wait_patiently(self, namespace: str, resource: str, what: str) -> None:
        """Wait unseen, and for longer than a reader would have to."""
        seconds = f"--timeout={PATIENCE_SECONDS:.0f}s"
        try:
            self.place.cluster.kubectl(
                "wait", "-n", namespace, f"--for={what}", resource, seconds, timeout=2 * PATIENCE_SECONDS
            )
        except KubectlError as error:
            raise SurpriseError(f"{error}; its status is {self.status(namespace, resource)}") from error

    def conditions(self, namespace: str, resource: str, *, expected: dict[str, str]) -> None:
        """Show the conditions of an object, and check them."""
        template = '{range .status.conditions[*]}{.type}={.status}: {.message}{"\\n"}{end}'
        self.terminal.kubectl("get", resource, "-n", namespace, "-o", f"jsonpath={template}")
        found = {each["type"]: each["status"] for each in self.status(namespace, resource)["conditions"]}
        if self.place.has_definitions:  # the policies are then not ours to install
            found["Enforced"] = "True"
        self.expect(found == expected, f"{resource} has the conditions {found}")

    def explanation(self) -> str:
        """Show how the size of team A's buffer came about."""
        path = 'jsonpath={.status.sizing.explanation}{"\\n"}'
        return self.terminal.kubectl("get", "cbuf", "web", "-n", self.a, "-o", path)

    def status(self, namespace: str, resource: str) -> dict[str, Any]:
        """Return the status of an object."""
        status: dict[str, Any] = self.place.cluster.get(resource, "-n", namespace).get("status", {})
        return status

    @staticmethod
    def expect(holds: bool, otherwise: str) -> None:
        """End the demo when something is not as it should be."""
        if not holds:
            raise SurpriseError(otherwise)
