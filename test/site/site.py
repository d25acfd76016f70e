#!/usr/bin/env -S /usr/bin/python3 -B
"""site.py - `make site`: all links lead somewhere, faults are found, and the search finds, from a folder."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MAKE = ROOT / "tools/site/make"
FLAGS = ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
         "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND")

try:
    import markdown  # noqa: F401
except ImportError:
    print("1..0 # SKIP no python3-markdown here")
    sys.exit(77)
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None


def make(*args):
    return subprocess.run([MAKE, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def links_lead_somewhere(site):
    done = make(site)
    assert done.returncode == 0, done.stdout
    for file in ("index.html", "docs/mutex.html", "man/holdfast.1.html", "man/hf_acquire.3.html", "docs/mutex.md",
                 "docs/pictures/kill.svg", "include/holdfast.h.html"):
        assert (site / file).exists(), file
    assert "](docs/mutex.md): " in (site / "llms.txt").read_text()


def faults_are_found(site):
    page = site / "docs/mutex.html"
    good = page.read_text()
    for fault, said in (('<a href="nowhere.html">x</a>', "docs/mutex.html: nowhere.html leads nowhere"),
                        ('<a href="claim.html#no-such">x</a>', "there is no such heading"),
                        ('<img src="no.png">', "no.png leads nowhere"),
                        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js")):
        page.write_text(good + fault)
        done = make("--check", site)
        assert done.returncode == 1 and said in done.stdout, f"{fault}: {done.stdout}"
    page.write_text(good)
    assert make("--check", site).returncode == 0


def search_finds(site):
    if webdriver is None or not shutil.which("chromium") or not shutil.which("chromedriver"):
        return "chromium, chromedriver or selenium is missing"
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    with tempfile.TemporaryDirectory(prefix="hf-chromium-") as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", *(["--no-sandbox"] if os.getuid() == 0 else [])):
            options.add_argument(flag)
        driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        try:
            driver.get((site / "docs/mutex.html").as_uri())
            driver.find_element("id", "search").send_keys("also-flock kernel")
            first = driver.find_element("css selector", "#found a")
            address = first.get_attribute("href")
            assert "/man/holdfast.1.html" in address or "/docs/from-flock.html" in address, address
            first.click()
            assert "also-flock" in driver.page_source
        finally:
            driver.quit()
    return None


def main():
    failed = 0
    cases = (links_lead_somewhere, faults_are_found, search_finds)
    print(f"1..{len(cases)}")
    with tempfile.TemporaryDirectory(prefix="hf-site-") as folder:
        for number, case in enumerate(cases, 1):
            try:
                skip = case(pathlib.Path(folder, "site"))
                print(f"ok {number} - {case.__name__}{f' # SKIP {skip}' if skip else ''}", flush=True)
            except AssertionError as fault:
                failed += 1
                print(f"not ok {number} - {case.__name__}\n# {fault}", flush=True)
    return 1 if failed else 0


sys.exit(main())
