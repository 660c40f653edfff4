// SPDX-License-Identifier: GPL-2.0
/*
 * How long things take on the air.
 *
 * Section numbers are those of IEEE Std 802.11-2012: 17 DSSS and CCK, 18 OFDM,
 * 19 ERP (802.11g), 20 HT (802.11n).
 */

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/kernel.h>

#include "wifi.h"

#define ACK_BYTES	14
#define CTS_BYTES	14
#define RTS_BYTES	20
#define BLOCK_ACK_BYTES	32	/* compressed, 8.3.1.9.3 */
#define LLC_BYTES	8	/* LLC and SNAP in front of the Ethernet type */
#define FCS_BYTES	4
#define DATA_HEADER	24
#define QOS_HEADER	26

/* Data bits a symbol of OFDM: 18.2.3.4, table 18-4. */
static const struct {
	u16 rate;
	u16 bits;
} ofdm[] = {
	{ 60, 24 }, { 90, 36 }, { 120, 48 }, { 180, 72 },
	{ 240, 96 }, { 360, 144 }, { 480, 192 }, { 540, 216 },
};

/* Data bits a symbol and stream of HT: 20.6, tables 20-30 and 20-38. */
static const u16 ht_bits[2][8] = {
	{ 26, 52, 78, 104, 156, 208, 234, 260 },
	{ 54, 108, 162, 216, 324, 432, 486, 540 },
};

/* Modulation and coding of an MCS as a rate of OFDM: 9.7.8, table 9-5. */
static const u16 ht_reference[8] = { 60, 120, 180, 240, 360, 480, 540, 540 };

static bool is_dsss(const struct wifi_rate *rate)
{
	return rate->legacy == 10 || rate->legacy == 20 || rate->legacy == 55 ||
	       rate->legacy == 110;
}

static u32 ofdm_bits(u16 rate)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ofdm); i++)
		if (ofdm[i].rate == rate)
			return ofdm[i].bits;
	return 0;
}

static u32 ht_symbol_bits(const struct wifi_rate *rate)
{
	return ht_bits[rate->wide][rate->mcs % 8] * (rate->mcs / 8 + 1);
}

/* Tail bits of all encoders: there are two above 300 Mbit/s, 20.3.11.4. */
static u32 ht_tail_bits(const struct wifi_rate *rate)
{
	return ht_symbol_bits(rate) > 1200 ? 12 : 6;
}

/* Preamble and PLCP header of the mixed format, 20.3.9: 1, 2, 4, 4 HT-LTFs. */
static u32 ht_preamble_ns(const struct wifi_rate *rate)
{
	static const u8 ltfs[] = { 1, 2, 4, 4 };

	return 32000 + 4000 * ltfs[rate->mcs / 8];
}

/* Silence after OFDM in the 2.4 GHz band, 19.3.2.4: aSignalExtension. */
static u32 extension_ns(const struct wifi_phy *phy)
{
	return phy->band == 2 ? 6000 : 0;
}

static u32 dsss_preamble_ns(const struct wifi_phy *phy, const struct wifi_rate *rate)
{
	return phy->short_preamble && rate->legacy > 10 ? 96000 : 192000;
}

/*
 * wifi_rate_valid() - whether @rate exists in the band of @phy
 */
bool wifi_rate_valid(const struct wifi_phy *phy, const struct wifi_rate *rate)
{
	if (!rate->legacy)
		return rate->mcs < 32;
	return ofdm_bits(rate->legacy) || (is_dsss(rate) && phy->band == 2);
}

/**
 * wifi_ppdu_ns() - air time of a PPDU
 * @phy:	band and preamble
 * @rate:	of its data
 * @bytes:	of the PSDU, that is all MPDUs with their headers and FCS
 *
 * DSSS 17.2.2 and 17.2.3.6, OFDM 18.4.3, ERP 19.8.3, HT 20.4.3.
 */
u32 wifi_ppdu_ns(const struct wifi_phy *phy, const struct wifi_rate *rate, u32 bytes)
{
	u32 symbols;

	if (is_dsss(rate))
		return dsss_preamble_ns(phy, rate) +
		       1000 * DIV_ROUND_UP(80 * bytes, rate->legacy);
	if (rate->legacy) {
		symbols = DIV_ROUND_UP(16 + 8 * bytes + 6, ofdm_bits(rate->legacy));
		return 20000 + 4000 * symbols + extension_ns(phy);
	}
	symbols = DIV_ROUND_UP(16 + 8 * bytes + ht_tail_bits(rate), ht_symbol_bits(rate));
	return ht_preamble_ns(rate) + extension_ns(phy) +
	       (rate->short_gi ? roundup(3600 * symbols, 4000) : 4000 * symbols);
}

/*
 * wifi_ppdu_bytes() - the longest PSDU of an HT PPDU that takes at most @ns
 */
u32 wifi_ppdu_bytes(const struct wifi_phy *phy, const struct wifi_rate *rate, u32 ns)
{
	u32 fixed = ht_preamble_ns(rate) + extension_ns(phy);
	u32 symbols = ns > fixed ? rounddown(ns - fixed, 4000) / (rate->short_gi ? 3600 : 4000) : 0;
	u32 bits = symbols * ht_symbol_bits(rate);
	u32 service = 16 + ht_tail_bits(rate);

	return bits > service ? (bits - service) / 8 : 0;
}

/*
 * wifi_payload_ns() - what @bytes add to a long PPDU at @rate
 */
u32 wifi_payload_ns(const struct wifi_rate *rate, u32 bytes)
{
	if (is_dsss(rate))
		return 1000 * DIV_ROUND_UP(80 * bytes, rate->legacy);
	if (rate->legacy)
		return 4000 * 8 * bytes / ofdm_bits(rate->legacy);
	return (rate->short_gi ? 3600 : 4000) * 8 * bytes / ht_symbol_bits(rate);
}

/*
 * wifi_control_rate() - of the ACK, block ACK or CTS that answers @rate
 *
 * The highest mandatory rate of the same kind that is not above it: 9.7.6.5.2.
 */
struct wifi_rate wifi_control_rate(const struct wifi_rate *rate)
{
	u16 legacy = rate->legacy ?: ht_reference[rate->mcs % 8];

	if (!is_dsss(rate))
		legacy = legacy >= 240 ? 240 : legacy >= 120 ? 120 : 60;
	return (struct wifi_rate){ .legacy = legacy };
}

/*
 * wifi_basic_rate() - of frames to all, on a medium whose data use @rate
 */
struct wifi_rate wifi_basic_rate(const struct wifi_rate *rate)
{
	return (struct wifi_rate){ .legacy = is_dsss(rate) ? 10 : 60 };
}

/*
 * wifi_sifs_ns() - table 18-17: 16 us at 5 GHz; table 19-8: 10 us at 2.4 GHz
 */
u32 wifi_sifs_ns(const struct wifi_phy *phy)
{
	return phy->band == 2 ? 10000 : 16000;
}

u32 wifi_slot_ns(const struct wifi_phy *phy)
{
	return 1000 * phy->slot;
}

/*
 * wifi_ack_ns() - air time of the ACK for a frame at @rate
 */
u32 wifi_ack_ns(const struct wifi_phy *phy, const struct wifi_rate *rate)
{
	struct wifi_rate control = wifi_control_rate(rate);

	return wifi_ppdu_ns(phy, &control, ACK_BYTES);
}

/*
 * wifi_block_ack_ns() - air time of the block ACK for an A-MPDU at @rate
 */
u32 wifi_block_ack_ns(const struct wifi_phy *phy, const struct wifi_rate *rate)
{
	struct wifi_rate control = wifi_control_rate(rate);

	return wifi_ppdu_ns(phy, &control, BLOCK_ACK_BYTES);
}

/*
 * wifi_eifs_ns() - how much longer to wait after a frame nobody understood
 *
 * SIFS and an ACK at the lowest rate of OFDM, 9.3.7.
 */
u32 wifi_eifs_ns(const struct wifi_phy *phy)
{
	struct wifi_rate lowest = { .legacy = 60 };

	return wifi_sifs_ns(phy) + wifi_ppdu_ns(phy, &lowest, ACK_BYTES);
}

u32 wifi_rts_ns(const struct wifi_phy *phy, u32 rate)
{
	struct wifi_rate control = { .legacy = rate };

	return wifi_ppdu_ns(phy, &control, RTS_BYTES);
}

/**
 * wifi_protect_ns() - from the start of an exchange to that of its data
 * @phy:	band and preamble
 * @protection:	enum wifi_protection
 * @rate:	of RTS and CTS, 100 kbit/s
 *
 * 9.3.2.11 (CTS-to-self), 9.3.2.4 (RTS and CTS).
 */
u32 wifi_protect_ns(const struct wifi_phy *phy, u32 protection, u32 rate)
{
	struct wifi_rate control = { .legacy = rate };
	u32 cts;

	if (protection == WIFI_PROTECTION_NONE)
		return 0;
	cts = wifi_ppdu_ns(phy, &control, CTS_BYTES) + wifi_sifs_ns(phy);
	if (protection == WIFI_PROTECTION_CTS)
		return cts;
	return wifi_rts_ns(phy, rate) + wifi_sifs_ns(phy) + cts;
}

/**
 * wifi_mpdu_bytes() - length of an MPDU
 * @rate:	HT frames have a QoS field, 8.2.4.5
 * @frame:	bytes of the Ethernet frame
 * @overhead:	bytes of encryption
 */
u32 wifi_mpdu_bytes(const struct wifi_rate *rate, u32 frame, u32 overhead)
{
	u32 header = rate->legacy ? DATA_HEADER : QOS_HEADER;

	return header + overhead + LLC_BYTES + frame - ETH_HLEN + FCS_BYTES;
}
