//! Accessibility: contrast, names of controls, motion.

use serde_json::json;

use super::*;

/// Finds texts whose contrast with their background is lower than WCAG AA requires (4.5, or 3 for large texts).
const FAINT: &str = r"
    const parsed = colour => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const light = rgb => rgb.slice(0, 3).map(it => it / 255)
        .map(it => it <= 0.03928 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4)
        .reduce((sum, it, at) => sum + it * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = element => {
        for (let it = element; it; it = it.parentElement) {
            const colour = parsed(getComputedStyle(it).backgroundColor);
            if (colour.length == 3 || colour[3] == 1) return colour;
        }
        return [255, 255, 255];
    };
    const faint = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim() || !element.checkVisibility() || element.closest('svg')) continue;
        const style = getComputedStyle(element);
        const [one, other] = [light(parsed(style.color)), light(behind(element))].sort((a, b) => b - a);
        const ratio = (one + 0.05) / (other + 0.05);
        const isLarge = parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700;
        if (ratio < (isLarge ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)}: ${texts.currentNode.data.slice(0, 40)}`);
    }
    return faint;";

/// Finds controls that have no name.
const NAMELESS: &str = r"
    const name = it => it.getAttribute('aria-label') || it.textContent.trim() || it.labels?.[0]?.textContent;
    return [...document.querySelectorAll('a, button, input, select, textarea, nav, table, dialog, [role=img], [role=region]')]
        .filter(it => it.checkVisibility() && !name(it)).map(it => it.outerHTML.slice(0, 120));";

#[test]
fn every_text_has_enough_contrast_and_every_control_has_a_name() {
    under_load(|browser, _, address| {
        for view in views(browser) {
            go(browser, address, &view);
            for scheme in ["light", "dark"] {
                browser.prefers(scheme);
                assert_eq!(browser.run(FAINT), json!([]), "{view}, {scheme}");
            }
            assert_eq!(browser.run(NAMELESS), json!([]), "{view}");
            browser.press("?");
            browser.wait("keys are told", "document.querySelector('dialog[open]')");
            assert_eq!(browser.run(FAINT), json!([]), "{view}, a dialog");
        }
    });
}

#[test]
fn reduced_motion_disables_all_animations() {
    under_load(|browser, _, _| {
        browser.emulate("prefers-reduced-motion", "no-preference");
        // While nothing flows, nothing is animated.
        let moves = "[...document.querySelectorAll('.moving')].map(it => getComputedStyle(it).animationName)[0]";
        browser.wait(
            "statements flow, and that moves",
            &format!("{moves} == 'flow'"),
        );
        browser.emulate("prefers-reduced-motion", "reduce");
        browser.wait("nothing moves", &format!("{moves} == 'none'"));
    });
}
