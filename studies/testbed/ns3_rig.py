"""The rig of `emulate bench` in ns-3: five nodes in a row, FqCoDel, CUBIC in both directions.

Run by the Python that has ns-3 (`emulation.checks.ns3`), with one argument, a JSON object:
`down_bit_s` and `up_bit_s` of the bottleneck, `access_bit_s` of all other links, `one_way_ns`, the
delay of one direction, `length_s`, `flows` of each direction, `limit` of FqCoDel in packets,
`send_bytes` and `receive_bytes` of the sockets' buffers, `segment_bytes`, `seed`. Prints an object:
`load_s`, wall seconds of the simulation alone, `hops`, packets times the links that each has
crossed, `packets` that left the two bottlenecks, and `received_bytes`.
"""

import json
import sys
import time

from ns import ns

#: Positions in the row.
CLIENT, ROUTER_UP, DELAY, ROUTER_DOWN, SERVER = range(5)


def main(asked: dict) -> dict:
    """Simulate the rig; return what the module's docstring says."""
    ns.RngSeedManager.SetSeed(asked["seed"])
    size = ns.UintegerValue
    for attribute, value in (
        ("ns3::TcpL4Protocol::SocketType", ns.StringValue("ns3::TcpCubic")),
        ("ns3::TcpSocket::SegmentSize", size(asked["segment_bytes"])),
        ("ns3::TcpSocket::SndBufSize", size(asked["send_bytes"])),
        ("ns3::TcpSocket::RcvBufSize", size(asked["receive_bytes"])),
        ("ns3::FqCoDelQueueDisc::MaxSize", ns.StringValue(f"{asked['limit']}p")),
    ):
        ns.Config.SetDefault(attribute, value)
    nodes = ns.NodeContainer()
    nodes.Create(5)
    ns.InternetStackHelper().Install(nodes)
    queues = [
        queue for left in range(4) for queue in wire(asked, nodes.Get(left), nodes.Get(left + 1))
    ]
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    ends = (nodes.Get(CLIENT), "10.0.1.1"), (nodes.Get(SERVER), "10.0.4.2")
    sinks = [
        flow(asked, *pair, 5001 + number)
        for number in range(asked["flows"])
        for pair in (ends, ends[::-1])
    ]
    ns.Simulator.Stop(ns.Seconds(asked["length_s"]))
    began = time.monotonic()
    ns.Simulator.Run()
    load_s = time.monotonic() - began
    sent = [queue.GetStats().nTotalSentPackets for _, queue in queues]
    bottlenecks = [queue.GetStats().nTotalSentPackets for shaped, queue in queues if shaped]
    return {
        "load_s": load_s,
        "hops": sum(sent),
        "packets": sum(bottlenecks),
        "received_bytes": sum(sink.GetTotalRx() for sink in sinks),
    }


def wire(asked, left, right):
    """Join two neighbours; return (whether it is a bottleneck, queue) of both ends, left first."""
    number = left.GetId() + 1
    delay_ns = asked["one_way_ns"] if DELAY in (left.GetId(), right.GetId()) else 0
    link = ns.PointToPointHelper()
    link.SetDeviceAttribute("DataRate", ns.StringValue(f"{asked['access_bit_s']}bps"))
    link.SetChannelAttribute("Delay", ns.StringValue(f"{delay_ns}ns"))
    devices = link.Install(left, right)
    queues = []
    for device in (devices.Get(0), devices.Get(1)):
        place = device.GetNode().GetId()
        other = right if place == left.GetId() else left
        rate = {ROUTER_UP: asked["up_bit_s"], ROUTER_DOWN: asked["down_bit_s"]}.get(place)
        shaped = rate is not None and other.GetId() == DELAY
        helper = ns.TrafficControlHelper()
        if shaped:
            device.SetAttribute("DataRate", ns.StringValue(f"{rate}bps"))
            # What waits does so in the queue discipline.
            queue = device.GetObject[ns.PointToPointNetDevice]().GetQueue()
            queue.SetAttribute("MaxSize", ns.StringValue("1p"))
            helper.SetRootQueueDisc("ns3::FqCoDelQueueDisc")
        else:
            helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", ns.StringValue("100000p"))
        queues.append((shaped, helper.Install(device).Get(0)))
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address(f"10.0.{number}.0"), ns.Ipv4Mask("255.255.255.0"))
    addresses.Assign(devices)
    return queues


def flow(asked, source, target, port):
    """Add a bulk transfer from one (node, address) to another; return what receives it."""
    address = ns.InetSocketAddress(ns.Ipv4Address(target[1]), port).ConvertTo()
    sender = ns.BulkSendHelper("ns3::TcpSocketFactory", address)
    sender.SetAttribute("SendSize", ns.UintegerValue(asked["segment_bytes"]))
    sender.Install(source[0])
    anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port).ConvertTo()
    receiver = ns.PacketSinkHelper("ns3::TcpSocketFactory", anywhere)
    return receiver.Install(target[0]).Get(0).GetObject[ns.PacketSink]()


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
