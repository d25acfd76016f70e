#!/usr/bin/python3 -B
"""browser.py - the page of holdfast-web in a real browser: Debian's chromium, by selenium."""
import atexit
import shutil
import tempfile
from web import *

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.select import Select
except ImportError:
    webdriver = None

FLAGS = ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps", "--no-first-run",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=1400,900")
BROWSER = None


def browser():
    """One browser for all cases, with an empty profile."""
    global BROWSER
    if BROWSER is None:
        folder = tempfile.mkdtemp(prefix="hf-chromium-")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in (*FLAGS, f"--user-data-dir={folder}", *(["--no-sandbox"] if os.getuid() == 0 else [])):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        BROWSER = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        atexit.register(lambda: (BROWSER.quit(), shutil.rmtree(folder, ignore_errors=True)))
    return BROWSER


class Page:
    """The page, logged in by the printed address."""

    def __init__(self, t, *options, live="up", **more):
        self.t, self.driver = t, browser()
        self.site = Site(t, *options, **more)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(f"{self.site.base}/#key={self.site.key}")
        t.until(f"it is {live}", lambda: self.link() == live)
        t.equal(self.driver.current_url, f"{self.site.base}/", "the key is gone from the address")

    def js(self, script, *args):
        return self.driver.execute_script(script, *args)

    def link(self):
        return self.js("return document.body.dataset.link")

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def rows(self):
        """{name: {column: text}} of the rows, in order."""
        return dict(self.js("""return [...document.querySelectorAll("#rows tr")].map(
            (row) => [row.dataset.name, Object.fromEntries([...row.cells].map(
                (cell) => [cell.className.slice(2), cell.textContent]))])"""))

    def until_row(self, name, **wanted):
        def right():
            row = self.rows().get(name)
            return row and all(row[column] == text for column, text in wanted.items())
        self.t.until(f"{name} is shown as {wanted}", right)

    def queue(self):
        return self.js("""return [...document.querySelectorAll("#lock .queue li")].map(
            (place) => [place.className, place.dataset.token])""")

    def commands(self):
        return self.js("return [...document.querySelectorAll('#lock .commands code')].map((code) => code.textContent)")

    def keys(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        return self.js("return document.activeElement.closest('tr')?.dataset.name ?? document.activeElement.id")

    def faults(self):
        """The errors that the browser logged."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def end(self):
        self.t.equal(self.faults(), [], "errors of the browser")
        self.t.equal(self.site.end(), 0)


@case
def the_page_follows_a_queue(t):
    page = Page(t)
    t.contains(page.text("#empty"), "Nobody holds a lock")
    holder = t.hold("deploy", "--note", "release 7")
    page.until_row("deploy", kind="mutex", waiters="", note="release 7")
    t.contains(page.rows()["deploy"]["holder"], f":{holder.pid}")
    quiet = t.hold("another")
    waiters = [t.start("run", "deploy", "--", "sleep", "1000") for _ in range(3)]
    page.until_row("deploy", waiters="3")
    t.equal(list(page.rows()), ["deploy", "another"], "the contended lock comes first")
    t.until("the header follows", lambda: (page.text("#held"), page.text("#waiting")) == ("2", "3"))
    page.js("document.querySelector('#rows tr').click()")
    t.until("the queue is shown", lambda: len(page.queue()) == 4)
    t.equal([place[0] for place in page.queue()], ["holds", "waits", "waits", "waits"])
    line = t.show("deploy")
    t.equal([place[1] for place in page.queue()], [p["token"] for p in line["holders"] + line["waiters"]])
    t.end(holder)
    page.until_row("deploy", waiters="2")
    t.until("the queue follows", lambda: [place[0] for place in page.queue()] == ["holds", "waits", "waits"])
    t.until("the timeline follows", lambda: page.js("return document.querySelectorAll('.timeline .period').length") == 2)
    for process in [*waiters, quiet]:
        process.send_signal(signal.SIGTERM)
    t.until("all are gone", lambda: page.rows() == {})
    for process in [*waiters, quiet]:
        t.finish(process)
    page.end()


@case
def every_action_has_a_key(t):
    page = Page(t, "--allow-ask")
    holders = [t.hold(name) for name in ("alpha", "beta", "gamma")]
    t.until("all are shown", lambda: list(page.rows()) == ["alpha", "beta", "gamma"])
    page.keys(Keys.ARROW_DOWN)
    t.equal(page.focused(), "alpha")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    t.equal(page.focused(), "beta")
    page.keys(Keys.ENTER)
    t.until("beta is open", lambda: page.text("#lock-name") == "beta" and len(page.queue()) == 1)
    page.keys(Keys.ESCAPE)
    t.equal((page.text("#lock-name"), page.focused()), (None, "beta"))
    page.keys("/")
    page.keys("gam")
    t.until("it is filtered", lambda: list(page.rows()) == ["gamma"])
    page.keys(Keys.ENTER)
    t.equal(page.focused(), "gamma")
    page.keys("a")
    t.until("the dialog is open", lambda: page.js("return document.querySelector('#ask-dialog').open"))
    page.keys("reboot", Keys.ENTER)
    page.site.wait_for('audit: ask lock="gamma" .*reason="reboot"')
    t.until("a message is shown", lambda: "Asked 1 holder" in page.text("#message"))
    page.keys("b")
    t.until("it is refused", lambda: "--allow-break" in page.text("#message"))
    page.keys("?")
    t.until("help is there", lambda: page.js("return document.querySelector('#help-dialog').open"))
    keys = page.js("return [...document.querySelectorAll('#help-dialog dl > div')].filter("
                   "(row) => row.offsetParent).map((row) => row.querySelector('kbd').textContent)")
    t.equal(keys, ["/", "↑", "Enter", "a", "p", "Esc", "?"], "only those that are allowed")
    page.keys(Keys.ESCAPE)
    page.js("document.getElementById('filter').value = ''; "
            "document.getElementById('filter').dispatchEvent(new Event('input'))")
    page.keys("p")
    t.equal(page.text("#link"), "paused")
    t.end(holders.pop(0))
    t.until("the store has changed", lambda: [lock["name"] for lock in t.list()] == ["beta", "gamma"])
    t.equal(list(page.rows()), ["alpha", "beta", "gamma"], "paused")
    page.keys("p")
    t.until("it goes on", lambda: list(page.rows()) == ["beta", "gamma"])
    for holder in holders:
        t.end(holder)
    page.end()


@case
def break_needs_the_typed_name_and_a_reason(t):
    page = Page(t, "--allow-break")
    holder = t.hold("deploy")
    place = t.show("deploy")["holders"][0]
    page.until_row("deploy", waiters="")
    page.keys(Keys.ARROW_DOWN, "b")
    t.until("the dialog is open", lambda: page.js("return document.querySelector('#break-dialog').open"))
    t.equal(page.text("#break-dialog .token"), place["token"])
    t.contains(page.text("#break-dialog .owner"), f":{holder.pid}")
    button = page.driver.find_element(By.CSS_SELECTOR, "#break-dialog [type=submit]")
    page.keys("deplo", Keys.TAB, "it hangs")
    t.equal(button.is_enabled(), False, "with another name")
    page.driver.find_element(By.NAME, "typed").send_keys("y")
    t.equal(button.is_enabled(), True)
    button.click()
    t.equal(t.finish(holder).code, 79)
    page.site.wait_for(rf'audit: break lock="deploy" token={place["token"]} .*reason="it hangs".*: done')
    t.until("a message is shown", lambda: "Broken: deploy" in page.text("#message"))
    t.until("it is gone", lambda: page.rows() == {})
    page.end()


@case
def of_several_holders_the_user_chooses(t):
    page = Page(t, "--allow-break")
    holders = [t.hold("gpu", "--slots", "2", "--note", note) for note in ("first", "second")]
    places = t.show("gpu")["holders"]
    page.until_row("gpu", waiters="")
    page.keys(Keys.ARROW_DOWN, Keys.ENTER)
    t.until("both are shown", lambda: len(page.queue()) == 2)
    page.keys("b")
    t.until("the dialog is open", lambda: page.js("return document.querySelector('#break-dialog').open"))
    page.keys(Keys.TAB, "gpu", Keys.TAB, "it hangs")
    button = page.driver.find_element(By.CSS_SELECTOR, "#break-dialog [type=submit]")
    t.equal((page.text("#break-dialog .token"), button.is_enabled()), ("–", False), "nobody is chosen")
    Select(page.driver.find_element(By.CSS_SELECTOR, "#break-dialog select")).select_by_value(places[1]["token"])
    t.equal(page.text("#break-dialog .token"), places[1]["token"])
    t.contains(page.text("#break-dialog .owner"), f":{places[1]['pid']}")
    button.click()
    pids = [holder.pid for holder in holders]
    t.equal(t.finish(holders[pids.index(places[1]["pid"])]).code, 79)
    t.until("the other is left", lambda: [place["pid"] for place in t.show("gpu")["holders"]] == [places[0]["pid"]])
    t.end(holders[pids.index(places[0]["pid"])])
    page.end()


@case
def other_peoples_text_is_escaped(t):
    page = Page(t, "--allow-break")
    evil = '<img src=x onerror="window.hacked=1">'
    names = [evil, "'\"><script>window.hacked=1", "a\u202egnirts", "${7*7}{{7*7}}`id`$(id)"]
    note = "<script>window.hacked=1</script>\x1b[31mred\x1b[0m \u202eevil\u2028\"'>"
    holders = [t.hold(name, "--note", note, script=f"sleep 1000; : '{evil}' \u202e") for name in names]
    waiter = t.start("run", "--note", note, evil, "--", "sleep", "1000", note)
    page.until_row(evil, waiters="1")
    t.until("all are shown", lambda: len(page.rows()) == len(names))
    rows = page.rows()
    t.equal(rows["a\u202egnirts"]["name"], "a\\u202egnirts")
    t.equal(rows[evil]["name"], evil)
    t.contains(rows[evil]["note"], "</script>\\u001b[31mred")
    t.contains(rows[evil]["note"], "\\u202eevil\\u2028")
    for name in rows:
        page.js("[...document.querySelectorAll('#rows tr')].find((row) => row.dataset.name === arguments[0]).click()", name)
        t.until("it is open", lambda: page.queue())
        page.js("document.querySelector('#lock details').open = true")
    page.js("document.activeElement.blur()")
    t.equal(page.js("return window.hacked ?? null"), None, "a script ran")
    t.equal(page.js("return document.querySelectorAll('script, img, iframe, object').length"), 1, "only our script")
    hidden = page.js("return /[\\u0000-\\u0008\\u000b-\\u001f\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.innerText)")
    t.equal(hidden, False, "no hidden characters")
    for process in [*holders, waiter]:
        t.end(process)
    page.end()


@case
def a_used_key_and_a_dead_server_are_reported(t):
    page = Page(t)
    t.equal(page.driver.get_cookies(), [], "cookies")
    page.driver.refresh()
    t.until("it is live again", lambda: page.link() == "up")
    page.js("sessionStorage.clear()")
    page.driver.get("about:blank")
    page.driver.get(f"{page.site.base}/#key={page.site.key}")
    t.until("it is refused", lambda: page.link() == "refused")
    t.equal(page.js("return [...document.querySelectorAll('body > section, main, .figures')].filter("
                    "(part) => part.checkVisibility()).map((part) => part.id)"), ["no-key"])
    t.contains(page.text("#no-key"), "pkill -USR1 holdfast-web")
    before = len(page.site.log)
    page.site.process.send_signal(signal.SIGUSR1)
    page.site.key = page.site.wait_for(KEY, before)[2]
    page.js("location.hash = arguments[0]", f"key={page.site.key}")
    t.until("it is logged in", lambda: page.link() == "up")
    page.site.end(signal.SIGKILL)
    t.until("it is reported", lambda: page.link() == "stopped")
    page.driver.get("about:blank")


@case
def an_unreachable_store_is_shown_as_unknown(t):
    page = Page(t, live="down", env={"HOLDFAST_URL": "redis://127.0.0.1:1"})
    t.until("it is reported", lambda: page.text("#empty"))
    t.contains(page.text("#empty"), "It is not known who holds a lock.")
    t.contains(page.text("#empty"), "Redis at 127.0.0.1:1 cannot be reached: connection refused")
    t.equal([page.text(f"#{id}") for id in ("held", "waiting", "lost", "count", "as-of")], ["–", "–", "–", "", ""])
    page.end()


@case
def the_commands_to_copy_work(t):
    name = "-rf x'$(id)"
    page = Page(t)
    holder = t.start("run", "--", name, "--", "sleep", "1000")
    page.until_row(name, waiters="")
    page.js("document.querySelector('#rows tr').click()")
    t.until("all commands are shown", lambda: len(page.commands()) == 4)
    for line in page.commands():
        t.contains(line, f"--url {t.env['HOLDFAST_URL']} ")
        t.contains(line, " -- '-rf x'")
    show, _, _, broken = page.commands()
    elsewhere = dict(os.environ, PATH=f"{os.path.dirname(hf.HOLDFAST)}:{os.environ['PATH']}", HOLDFAST_URL="nowhere:")
    t.contains(subprocess.run(["sh", "-c", show], env=elsewhere, capture_output=True, text=True).stdout, f":{holder.pid}")
    sure = broken.replace("break ", "break --yes ", 1)  # without it, break asks a person
    t.equal(subprocess.run(["sh", "-c", sure], env=elsewhere, capture_output=True).returncode, 0)
    t.equal(t.finish(holder).code, 79)
    page.end()


@case
def the_page_fits_narrow_screens_and_follows_the_system_colours(t):
    page = Page(t)
    name = "x" * 200
    holder = t.hold(name, "--note", "word " * 30)
    page.until_row(name, waiters="")
    papers = set()
    for width, scheme in ((1400, "light"), (800, "light"), (360, "dark")):
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        for click in (False, True):
            if click:
                page.js("document.querySelector('#rows tr').click()")
            t.equal(page.js("return document.documentElement.scrollWidth <= innerWidth"), True, f"{width} is too narrow")
            t.equal(page.js("const lock = document.getElementById('lock'); return lock.scrollWidth <= lock.clientWidth"), True)
            t.equal(page.js("return [...document.querySelectorAll('#lock .commands code')].filter("
                            "(code) => code.scrollWidth > code.clientWidth).length"), 0, f"commands cut at {width}")
        page.keys(Keys.ESCAPE)
        papers.add(page.js("return getComputedStyle(document.body).backgroundColor"))
    t.equal(len(papers), 2, "light and dark")
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    t.end(holder)
    page.end()


needs_program()
if webdriver is None or not shutil.which("chromium") or not shutil.which("chromedriver"):
    print("1..0 # SKIP chromium, chromedriver or selenium is missing")
    sys.exit(77)
main()
