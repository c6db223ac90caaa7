"""What rpc.discover says of everything that the daemon sends, as a check of what it really sends.

Every check remembers what it has met, so that a test can ask afterwards what is described and was never sent.
"""

PLAIN = {"string": str, "integer": int, "boolean": bool}


class Schema:
    """The method table of a daemon. A mismatch is an AssertionError that names the path."""

    def __init__(self, table):
        self.objects = {each["name"]: each["fields"] for each in table["objects"]}
        self.methods = {each["name"]: each for each in table["methods"]}
        self.notifications = {each["method"]: each["params"] for each in table["notifications"]}
        self.events = {each["kind"]: each["details"] for each in table["events"]}
        self.errors = {each["code"] for each in table["errors"]}
        self.common_errors = {each["code"] for each in table["common_errors"]}
        self.met = set()  # names of objects, methods, notifications and kinds of events
        self.met_fields = set()  # (of what, field), with a value that is not null or empty

    def check_answer(self, method, answer):
        """The result of a method is the object, or the page of objects, that its row says."""
        described = self.methods[method]["result"]
        self.met.add(method)
        if described["object"] in PLAIN:
            return self._check_type(described["object"], answer, method)
        if not described["list"]:
            return self.check_object(described["object"], answer, method)
        self._expect(isinstance(answer, dict) and set(answer) == {"items", "next"}, method, answer)
        self._expect(answer["next"] is None or isinstance(answer["next"], str), method + ".next", answer["next"])
        for item in answer["items"]:
            self.check_object(described["object"], item, f"{method}.items[]")

    def check_error(self, method, error):
        """An error is one that its method, or any, may answer."""
        self.check_object("error", error, f"error of {method}")
        own = {each["code"] for each in self.methods[method]["errors"]} if method in self.methods else {-32601}
        self._expect(error["code"] in own | self.common_errors, f"error of {method}", error)

    def check_notification(self, method, params):
        self.met.add(method)
        self._check_fields(method, self.notifications[method], params, method)
        if method == "event":
            kind = params["kind"]
            self.met.add(kind)
            self._check_fields(kind, self.events[kind], params["details"], f"event {kind}")

    def check_object(self, name, value, path):
        self._expect(name in self.objects, path, f"no described object {name}")
        self.met.add(name)
        self._check_fields(name, self.objects[name], value, path)

    def _check_fields(self, owner, fields, value, path):
        self._expect(isinstance(value, dict), path, value)
        needed = {field["name"] for field in fields if not field["optional"]}
        known = {field["name"] for field in fields}
        self._expect(not set(value) - known, path, f"sent and not described: {sorted(set(value) - known)}")
        self._expect(not needed - set(value), path, f"described and not sent: {sorted(needed - set(value))}")
        for field in fields:
            if field["name"] in value:
                self._check_field(owner, field, value[field["name"]], f"{path}.{field['name']}")

    def _check_field(self, owner, field, value, path):
        if value is None:
            return self._expect(field["null"] or field["type"] == "any", path, "null, and not described as such")
        if value not in ([], {}):
            self.met_fields.add((owner, field["name"]))
        kind, words = field["type"], field["words"]
        if kind == "array":
            self._expect(isinstance(value, list), path, value)
            for item in value:
                self._check_type(field["of"], item, path + "[]")
        elif kind == "object":
            self._expect(isinstance(value, dict), path, value)
            if field["of"] in self.objects:
                return self.check_object(field["of"], value, path)
            for key, item in value.items():
                self._expect(not words or key in words, path, f"{key} is none of {words}")
                self._check_type(field["of"], item, f"{path}.{key}")
        else:
            self._check_type(kind, value, path)
            self._expect(not words or value in words, path, f"{value} is none of {words}")

    def _check_type(self, kind, value, path):
        if kind in self.objects:
            return self.check_object(kind, value, path)
        if kind != "any":
            self._expect(type(value) is PLAIN[kind], path, f"{value!r} is no {kind}")

    def never_met(self):
        """What is described and was not sent: names, and (of what, field) pairs of those that were."""
        described = [*self.objects.items(), *self.notifications.items(), *self.events.items()]
        names = {name for name, _ in described} | set(self.methods)
        fields = {(name, field["name"]) for name, fields in described for field in fields}
        return names - self.met, fields - self.met_fields

    @staticmethod
    def _expect(holds, path, found):
        if not holds:
            raise AssertionError(f"{path}: {found}")
