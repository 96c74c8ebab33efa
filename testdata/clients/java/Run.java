import judged.client.ApiClient;
import judged.client.ApiException;
import judged.client.api.JobsApi;
import judged.client.model.Job;
import judged.client.model.Limits;
import judged.client.model.ModelFile;
import judged.client.model.Report;
import judged.client.model.Test;

/**
 * Judges one program through the generated client and prints what came of it. It uploads no blob: the library "native" of the generator
 * (7.25) sends a binary body as JSON.
 */
public class Run {
    public static void main(String[] args) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(System.getenv("JUDGED_URL"));
        client.setRequestInterceptor(r -> r.header("Authorization", "Bearer " + System.getenv("JUDGED_TOKEN")));

        Job job = new Job()
            .program(new ModelFile().text("#!/bin/sh\nread -r a b\necho $((a + b))\n"))
            .addTestsItem(new Test().name("1").input(new ModelFile().text("1 2\n")).answer(new ModelFile().base64("3\n".getBytes())))
            .limits(new Limits().cpuTimeMs(3000L));
        JobsApi jobs = new JobsApi(client);
        Report report = jobs.putJob("java", job, "60s");
        while (report.getState() != Report.StateEnum.DONE) {
            report = jobs.getJob("java", "60s", null);
        }
        long limit = report.getTests().get(0).getTiming().getLimitNs();
        System.out.print(report.getVerdict() + " " + limit);
        try {
            jobs.getJob("absent", null, null);
        } catch (ApiException e) {
            String type = client.getObjectMapper().readValue(e.getResponseBody(), judged.client.model.Problem.class).getType();
            System.out.println(" " + type);
        }
    }
}
