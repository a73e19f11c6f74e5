#!/usr/bin/python3
"""Lesson 6: calls the functions of rpc_server from Python, over gRPC.

    client.py                          the tour of the lesson
    client.py addition 2 3             one call; arguments are JSON
    client.py --list                   the server's methods
    client.py --services               the server's services, by gRPC's server reflection

Needs Debian's python3-grpcio and python3-protobuf. The modules of troupe/rpc.proto, which protoc makes, lie beside this
file in the build folder, build/examples/rpc; rpc.proto is the document of everything here.
"""

import argparse
import json
import math
import os
import pathlib
import struct
import sys
from dataclasses import dataclass

import grpc
from troupe import rpc_pb2, rpc_pb2_grpc

# --- data -----------------------------------------------------------------------------------------------------------

# troupe's element types, and what `struct` calls them.
ELEMENTS = {
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "boolean": "?",
}


@dataclass
class Tensor:
    """A dense array: its elements in row-major order. With numpy, use frombuffer and tobytes instead."""

    dtype: str
    shape: tuple
    values: list

    @staticmethod
    def of(dtype, nested):
        """Tensor.of("float32", [[1, 2], [3, 4]])"""
        shape, values = [], [nested]
        while values and isinstance(values[0], (list, tuple)):
            shape.append(len(values[0]))
            if any(len(each) != shape[-1] for each in values):
                raise ValueError("the rows of a tensor have one length")
            values = [element for each in values for element in each]
        return Tensor(dtype, tuple(shape), values)

    def nested(self):
        """The elements as lists in lists, or the one element of a scalar."""
        values = list(self.values)
        for extent in reversed(self.shape[1:]):
            values = [values[i : i + extent] for i in range(0, len(values), extent)]
        return values if self.shape else values[0]


def tensor_message(tensor):
    if tensor.dtype not in ELEMENTS:
        raise ValueError(f"{tensor.dtype} is not one of {', '.join(ELEMENTS)}")
    content = struct.pack(f"<{len(tensor.values)}{ELEMENTS[tensor.dtype]}", *tensor.values)
    return rpc_pb2.Tensor(dtype=tensor.dtype, shape=tensor.shape, content=content)


def tensor_of(message):
    if message.dtype not in ELEMENTS:
        raise ValueError(f"this program does not know the element type {message.dtype}")
    values = struct.unpack(f"<{math.prod(message.shape)}{ELEMENTS[message.dtype]}", message.content)
    return Tensor(message.dtype, tuple(message.shape), list(values))


def to_datum(value):
    """Numbers, texts, bytes, Tensors, lists, dictionaries and None as the server understands them."""
    if value is None:
        return rpc_pb2.Datum()
    if isinstance(value, bool):  # before int: a bool is an int in Python
        return rpc_pb2.Datum(bool_value=value)
    if isinstance(value, int):
        return rpc_pb2.Datum(int_value=value) if value < 2**63 else rpc_pb2.Datum(uint_value=value)
    if isinstance(value, float):
        return rpc_pb2.Datum(double_value=value)
    if isinstance(value, str):
        return rpc_pb2.Datum(text=value)
    if isinstance(value, bytes):
        return rpc_pb2.Datum(octets=value)
    if isinstance(value, Tensor):
        return rpc_pb2.Datum(tensor=tensor_message(value))
    if isinstance(value, (list, tuple)):
        return rpc_pb2.Datum(list=rpc_pb2.List(items=[to_datum(each) for each in value]))
    if isinstance(value, dict):
        fields = [rpc_pb2.Field(name=name, content=to_datum(content)) for name, content in value.items()]
        return rpc_pb2.Datum(record=rpc_pb2.Record(fields=fields))
    raise TypeError(f"a {type(value).__name__} can't be an argument")


def from_datum(datum):
    kind = datum.WhichOneof("kind")
    if kind is None:
        return None
    if kind == "tensor":
        return tensor_of(datum.tensor)
    if kind == "list":
        return [from_datum(each) for each in datum.list.items]
    if kind == "record":
        return {field.name: from_datum(field.content) for field in datum.record.fields}
    return getattr(datum, kind)


# --- calls ----------------------------------------------------------------------------------------------------------


def connect(address):
    """In the clear, or under TLS with the certificate that the environment names, as troupe's own processes."""
    # A call that the server may have received must not be made twice.
    options = [("grpc.enable_retries", 0)]
    names = [os.environ.get(f"TROUPE_TLS_{each}") for each in ("CA", "KEY", "CERTIFICATE")]
    if not any(names):
        return grpc.insecure_channel(address, options)
    contents = [pathlib.Path(each or "").read_bytes() for each in names]
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(*contents), options)


class Server:
    """The methods of a troupe server. A call waits for the server if it is not up, until its timeout."""

    def __init__(self, address, timeout):
        self.channel = connect(address)
        self.stub = rpc_pb2_grpc.RpcStub(self.channel)
        self.timeout = timeout

    def call(self, method, *arguments, timeout=None):
        request = rpc_pb2.CallRequest(method=method, arguments=[to_datum(each) for each in arguments])
        reply = self.stub.Call(request, timeout=timeout or self.timeout, wait_for_ready=True)
        return from_datum(reply.result)

    def begin(self, method, *arguments):
        """Returns at once; the value of the future's result() is for `from_datum`."""
        request = rpc_pb2.CallRequest(method=method, arguments=[to_datum(each) for each in arguments])
        return self.stub.Call.future(request, timeout=self.timeout, wait_for_ready=True)

    def methods(self):
        return self.stub.List(rpc_pb2.ListRequest(), timeout=self.timeout, wait_for_ready=True).methods

    def services(self):
        """Their names, by server reflection, without the module grpc_reflection, which Debian does not have."""
        ask = self.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        list_services = b"\x3a\x00"  # the field 7 of ServerReflectionRequest, an empty text
        answer = next(ask(iter([list_services]), timeout=self.timeout, wait_for_ready=True))
        return [name.decode() for name in contents(answer, 6, 1, 1)]  # list_services_response, service, name


def contents(message, *path):
    """The contents of the fields at a path in an encoded message."""
    if not path:
        return [message]
    return [found for field in parts(message) if field[0] == path[0] for found in contents(field[1], *path[1:])]


def parts(message):
    """The numbers and contents of a message's length-delimited fields; other fields are short here and skipped."""
    position = 0

    def varint():
        nonlocal position
        value = shift = 0
        while True:
            byte = message[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(message):
        key = varint()
        size = varint()
        if key & 7 == 2:
            yield key >> 3, message[position : position + size]
            position += size


def explain(error):
    """The code and the message of a failed call, and what troupe says about its causes."""
    lines = [f"{error.code().name}: {error.details()}"]
    for name, value in error.trailing_metadata() or ():
        if name != "grpc-status-details-bin":
            continue
        for detail in rpc_pb2.Error.FromString(value).details:
            causes = rpc_pb2.Causes()
            if detail.Unpack(causes):
                lines += [f"  because of: {cause.message}" for cause in causes.causes]
    return "\n".join(lines)


# --- the program ----------------------------------------------------------------------------------------------------


def tour(server):
    two, three = Tensor.of("int32", 2), Tensor.of("int32", 3)
    print("addition:", server.call("addition", two, three).nested())
    print("addition of numbers:", server.call("addition", 2, 3).nested())
    print("row_sums:", server.call("row_sums", Tensor.of("float32", [[1, 2, 3], [4, 5, 6]])).nested())
    print("word_counts:", server.call("word_counts", "to be or not to be"))

    futures = [server.begin("observe", x) for x in (1.0, 2.0, 6.0)]  # all at the same time
    print("observe:", [from_datum(future.result().result) for future in futures][-1])

    attempts = {
        "no such method": lambda: server.call("subtraction", 2, 3),
        "wrong arguments": lambda: server.call("addition", 2, "three"),
        "too slow": lambda: server.call("count_primes", 10**9, timeout=0.2),
    }
    for title, attempt in attempts.items():
        try:
            attempt()
        except grpc.RpcError as error:
            print(f"{title}: {explain(error)}")


def argument_of(text):
    """JSON, in which {"float32": [[1, 2], [3, 4]]} is a tensor."""

    def read(fields):
        (name, content), *others = fields.items() or [("", None)]
        return Tensor.of(name, content) if name in ELEMENTS and not others else fields

    return json.loads(text, object_hook=read)


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="client.py",
        description="Calls the functions of rpc_server; without a method, those of the lesson's tour.",
        epilog="""Exit codes:
  0     done
  1     a call failed, or there is no server
  2     wrong usage""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--address", default="localhost:4000", help="the server's address (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=10, help="seconds for each call (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the server's methods")
    parser.add_argument("--services", action="store_true", help="print the server's services, by server reflection")
    parser.add_argument("method", nargs="?", help="the method to call")
    parser.add_argument("arguments", nargs="*", metavar="argument", help='JSON: 2, "text", {"float32": [1, 2]}')
    chosen = parser.parse_args(arguments)
    if not chosen.timeout > 0:
        parser.error(f"the timeout must be positive, not {chosen.timeout}")
    try:
        chosen.arguments = [argument_of(each) for each in chosen.arguments]
    except ValueError as error:
        parser.error(f"an argument can't be read: {error} (texts need quotes: '\"text\"')")
    return chosen


def show(result):
    print(json.dumps(result.nested() if isinstance(result, Tensor) else result, default=lambda each: each.nested()))


def main():
    chosen = parse(sys.argv[1:])
    server = Server(chosen.address, chosen.timeout)
    try:
        if chosen.list:
            for method in server.methods():
                print(method.name + method.signature)
        elif chosen.services:
            print(*server.services(), sep="\n")
        elif chosen.method:
            show(server.call(chosen.method, *chosen.arguments))
        else:
            tour(server)
    except grpc.RpcError as error:
        print(f"client.py: {explain(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
