"""The numbers that a run may have: the names, titles and units of all metrics."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Metric:
    """Something that a run has one number of."""

    title: str
    unit: str
    step: float = 0.0  # the least difference that it can tell, in its unit; 0: any
    factor: bool = False  # a ratio by itself, whose error is that of a factor


METRICS: Final = {
    # RRUL (analysis.measures.rrul)
    "induced_latency_ms": Metric("mean induced latency", "ms"),
    "steady_latency_ms": Metric("induced latency of the second half", "ms"),
    "startup_latency_ms": Metric("induced latency of the first 20 s", "ms"),
    "startup_peak_ms": Metric("peak at start-up", "ms"),
    "control_s": Metric("time to control", "s"),
    "goodput_download_mbit_s": Metric("download goodput", "Mbit/s"),
    "goodput_upload_mbit_s": Metric("upload goodput", "Mbit/s"),
    "drops_download_percent": Metric("packets dropped downstream", "%"),
    "drops_upload_percent": Metric("packets dropped upstream", "%"),
    "slowest_probe_ms": Metric("mean induced latency of the slowest probe", "ms"),
    "probe_rtt_ms": Metric("mean round trip of all probes", "ms"),
    # A UDP flood (analysis.measures.battling)
    "unanswered_percent": Metric("steps without an answer to a ping", "%"),
    # RRUL over WiFi (analysis.measures.wifi_rigs)
    "below_qdiscs_ms": Metric("wait below the qdiscs", "ms"),
    # VoIP, web and RTT fairness (analysis.measures.voip, web and fairness)
    "voip_delay_ms": Metric("mean induced one-way delay", "ms"),
    "voip_delay_median_ms": Metric("median induced one-way delay", "ms"),
    "voip_delay_p99_ms": Metric("99th percentile of the induced one-way delay", "ms"),
    "voip_loss_percent": Metric("VoIP loss", "%"),
    "fetch_time_normalised": Metric("normalised fetch time", ""),
    "fetch_time_sd_s": Metric("standard deviation of the fetch time", "s"),
    "jain_index": Metric("Jain's index", ""),
    "goodput_total_mbit_s": Metric("total goodput", "Mbit/s"),
    "goodput_first_mbit_s": Metric("goodput of the first flow", "Mbit/s"),
    "goodput_second_mbit_s": Metric("goodput of the second flow", "Mbit/s"),
    "goodput_10ms_mbit_s": Metric("goodput of the flow of 10 ms", "Mbit/s"),
    "goodput_50ms_mbit_s": Metric("goodput of the flow of 50 ms", "Mbit/s"),
    "goodput_200ms_mbit_s": Metric("goodput of the flow of 200 ms", "Mbit/s"),
    "goodput_500ms_mbit_s": Metric("goodput of the flow of 500 ms", "Mbit/s"),
    # Captures of the upload's queue (analysis.measures.drops)
    "ack_drops_percent": Metric("acknowledgments of downloads dropped upstream", "%"),
    "late_syn_percent": Metric("connections whose first SYN was dropped", "%"),
    "timeouts_10ms": Metric("timeouts of the flow of 10 ms", ""),
    "timeouts_10ms_in_a_row": Metric("timeouts of the flow of 10 ms in a row", ""),
    "upload_wait_ms": Metric("wait of the uploads' own packets", "ms"),
    "probe_behind_packets": Metric("full packets ahead of a probe, 99th percentile", "packets"),
    "departure_interval_ms": Metric("mean time between packets that leave the queue", "ms"),
    "first_congestions_10ms": Metric(
        "congestion events in a row of the flow of 10 ms, from the first on", ""
    ),
    "drops_together_500ms": Metric(
        "packets of the flow of 500 ms dropped within a round trip", "packets"
    ),
    # The start of the upload's queue (analysis.measures.startup)
    "uncontrolled_s": Metric("time from the first drop until the wait is under control", "s"),
    "late_drops_times": Metric(
        "share dropped in the second half of the time until control, by that in the first", ""
    ),
    "drop_power": Metric("power of time in a dropping state of 10 drops and more", ""),
    "drop_growth_percent_s": Metric(
        "growth of the share dropped in a dropping state of 10 drops and more", "points/s"
    ),
    # Every packet of khademi2013 (analysis.measures.bulk)
    "queuing_p10_ms": Metric("10th percentile of the queuing delay", "ms", step=0.1),
    "queuing_median_ms": Metric("median queuing delay", "ms", step=0.1),
    "queuing_p90_ms": Metric("90th percentile of the queuing delay", "ms", step=0.1),
    "queuing_tail_ms": Metric("queuing delay from the 10th to the 90th percentile", "ms"),
    "queuing_most_ms": Metric("greatest queuing delay", "ms"),
    "queuing_off_target_ms": Metric("median queuing delay off its target", "ms"),
    "goodput_mean_mbit_s": Metric("mean goodput", "Mbit/s"),
    "goodput_median_mbit_s": Metric("median goodput of 5 s", "Mbit/s"),
    "packets_marked": Metric("packets marked", ""),
    "packets_dropped": Metric("packets dropped", ""),
    "sawtooth_kb": Metric("a flow's data in flight from the 10th to the 90th percentile", "kB"),
    "converged_s": Metric("time until 90 % of the median goodput", "s", step=1.0),
    "flow_median_ms": Metric("median queuing delay of one flow", "ms"),
    "flow_tail_ms": Metric("queuing delay of one flow from the 10th to the 90th percentile", "ms"),
    # khademi2013 over WiFi (analysis.measures.bulk)
    "rtt_p10_ms": Metric("10th percentile of the round trip", "ms"),
    "rtt_median_ms": Metric("median round trip", "ms"),
    "rtt_p90_ms": Metric("90th percentile of the round trip", "ms"),
    "up_rtt_p10_ms": Metric("10th percentile of the uploads' round trip", "ms"),
    "up_rtt_median_ms": Metric("median round trip of uploads", "ms"),
    "up_rtt_p90_ms": Metric("90th percentile of the uploads' round trip", "ms"),
    "ack_wait_p10_ms": Metric("10th percentile of the wait of uploads' acknowledgments", "ms"),
    "ack_wait_median_ms": Metric("median wait of uploads' acknowledgments", "ms"),
    "ack_wait_p90_ms": Metric("90th percentile of the wait of uploads' acknowledgments", "ms"),
    "up_goodput_median_mbit_s": Metric("median goodput of uploads in 5 s", "Mbit/s"),
    "packets_dropped_percent": Metric("packets of downloads dropped", "%"),
    "acks_dropped_percent": Metric("acknowledgments of uploads dropped", "%"),
    # One connection with a fixed window of codel2012 (analysis.measures.window)
    "second_waits_ms": Metric("how long the second packet waits", "ms"),
    "third_waits_ms": Metric("how long the third packet waits", "ms"),
    "pipe_packets": Metric("packets that fill the pipe", "packets"),
    "excess_packets": Metric("packets more than fill the pipe", "packets"),
    "queue_least_packets": Metric("least standing queue", "packets"),
    "queue_most_packets": Metric("greatest standing queue", "packets"),
    "queue_mean_packets": Metric("mean standing queue", "packets"),
    "arrivals_by_departures": Metric("arrivals by departures of the queue", ""),
    "busy_percent": Metric("time that the bottleneck sends", "%"),
    "empty_percent": Metric("time that the queue is empty", "%"),
    # Queues between gateways of codel2012 (analysis.measures.gateways)
    "queue_median_ms": Metric("median packet delay", "ms"),
    "queue_p75_ms": Metric("75th percentile of the packet delay", "ms"),
    "queue_p95_ms": Metric("95th percentile of the packet delay", "ms"),
    "queue_longest_ms": Metric("longest packet delay", "ms"),
    "queue_mean_ms": Metric("mean packet delay", "ms"),
    "bulk_median_ms": Metric("median packet delay, bulk transfers alone", "ms"),
    "bursty_median_ms": Metric("median packet delay, with bursty traffic", "ms"),
    "utilisation_percent": Metric("utilisation", "%"),
    "queue_dropped_percent": Metric("packets dropped by the queue", "%"),
    "used_dropped_percent": Metric("packets dropped where more than 60 % are used", "%"),
    "queue_megabytes": Metric("sent by the queue", "MB"),
    "drop_share_jain": Metric("Jain's index of drop shares", ""),
    "back_mean_ms": Metric("mean packet delay, other direction", "ms"),
    "back_dropped_percent": Metric("packets dropped by the queue, other direction", "%"),
    "back_megabytes": Metric("sent by the queue, other direction", "MB"),
    "below_90ms_percent": Metric("time with no delay of 90 ms or more", "%"),
    "full_percent": Metric("time with the buffer at least half full", "%"),
    "start_longest_ms": Metric("longest delay of the first 10 s", "ms"),
    "fall_1_times": Metric(
        "longest delay after the rate's first fall, by that before", "", factor=True
    ),
    "fall_2_times": Metric(
        "longest delay after the rate's second fall, by that before", "", factor=True
    ),
    "fall_3_times": Metric(
        "longest delay after the rate's third fall, by that before", "", factor=True
    ),
    "after_falls_ms": Metric("mean delay of the 10 s after the rate's falls", "ms"),
    "after_join_ms": Metric("mean delay of the 10 s after 31 flows join", "ms"),
    "after_leave_ms": Metric("mean delay of the 10 s after they have gone", "ms"),
    "first_drop_ms": Metric("until the first drop after a fall of the rate", "ms"),
    "after_rises_megabytes": Metric("sent in the 10 s after the rate's rises", "MB"),
    "elsewhere_megabytes": Metric("sent at other times", "MB"),
    # Campaigns on real computers (analysis.measures.bench)
    "icmp_idle_median_ms": Metric("median round trip before the load", "ms"),
    "icmp_induced_mean_ms": Metric("mean induced latency", "ms"),
    "icmp_induced_p50_ms": Metric("median induced latency", "ms"),
    "icmp_induced_p95_ms": Metric("95th percentile of the induced latency", "ms"),
    "icmp_induced_p99_ms": Metric("99th percentile of the induced latency", "ms"),
    "icmp_induced_max_ms": Metric("greatest induced latency", "ms"),
    "icmp_induced_mean_load_ms": Metric("mean induced latency of the whole load", "ms"),
    "icmp_mean_minus_min_ms": Metric("mean round trip above the least", "ms"),
    "icmp_loss_percent": Metric("pings without an answer", "%"),
    "tcp_rtt_mean_ms": Metric("mean smoothed RTT above the base", "ms"),
    "tcp_rtt_p99_ms": Metric("99th percentile of the smoothed RTT above the base", "ms"),
    "cwnd_mean_segments": Metric("mean congestion window", "segments"),
    "retransmits": Metric("segments sent again", ""),
    "sojourn_mean_ms": Metric("mean sojourn time", "ms"),
    "sojourn_p99_ms": Metric("99th percentile of the sojourn time", "ms"),
    **{
        f"{direction}_{name}": Metric(f"{title}, {direction}", unit)
        for direction in ("down", "up")
        for name, title, unit in (
            ("goodput_mbit_s", "goodput", "Mbit/s"),
            ("goodput_load_mbit_s", "goodput of the whole load", "Mbit/s"),
            ("jain", "Jain's index", ""),
            ("drops", "packets dropped", ""),
            ("marks", "packets marked", ""),
            ("drop_percent", "packets dropped", "%"),
            ("mark_percent", "packets marked", "%"),
            ("backlog_kb", "mean backlog", "kB"),
            ("pie_probability_percent", "PIE's mean probability", "%"),
            ("cubic_be_mbit_s", "goodput of the flow of CUBIC", "Mbit/s"),
            ("bbr_be_mbit_s", "goodput of the flow of BBR", "Mbit/s"),
            ("reno_be_mbit_s", "goodput of the flow of Reno", "Mbit/s"),
            ("westwood_be_mbit_s", "goodput of the flow of Westwood", "Mbit/s"),
            *((f"flow_{n}_mbit_s", f"goodput of flow {n}", "Mbit/s") for n in range(1, 5)),
        )
    },
}
